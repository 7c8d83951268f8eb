"""One input as a search moves it: along a gradient, by scaling, by putting values in; in its declared ranges."""

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch.utils import _pytree as pytree

from onnxlint.probes.examples.synthesis import Ranges, integer_range
from onnxlint.probes.exporters import leaves
from onnxlint.probes.observe.decisions import Decision
from onnxlint.probes.observe.eager import Eager, Run
from onnxlint.probes.observe.observe import clone

_COUNT = 1024  # a count without a known range is tried up to here


class Point:
    """One input as the search moves it: its leaves, and which of them are numbers, counts or masks."""

    def __init__(self, eager: Eager, run: Run, limits: Ranges) -> None:
        self.flat, self.spec = pytree.tree_flatten(clone((run.args, dict(run.kwargs))))
        labels = iter(leaves(eager.example.parameters, run.args, run.kwargs))
        self.names = ["" if leaf is None else next(labels).partition(".")[0] for leaf in self.flat]
        self.limits = limits
        tensors = ((n, t) for n, t in zip(self.names, self.flat, strict=True) if isinstance(t, torch.Tensor))
        whole = ((name, leaf) for name, leaf in tensors if not (leaf.is_floating_point() or leaf.is_complex()))
        self.whole = {name: _whole_range(name, leaf, eager.model, limits) for name, leaf in whole}

    @property
    def floats(self) -> list[int]:
        """The places of the leaves that gradients and scaling can move."""
        return [i for i, leaf in enumerate(self.flat) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The input as a call takes it, in copies."""
        args, kwargs = clone(pytree.tree_unflatten(self.flat, self.spec))
        return args, kwargs

    def with_gradients(self) -> tuple[tuple[Any, ...], dict[str, Any], list[torch.Tensor]]:
        """What a call takes, and the tensors that gradients arrive at; the model gets tensors that it may write to."""
        moving = {id(self.flat[i]): self.flat[i].detach().clone().requires_grad_() for i in self.floats}
        flat = [moving[id(leaf)] * 1 if id(leaf) in moving else clone(leaf) for leaf in self.flat]
        args, kwargs = pytree.tree_unflatten(flat, self.spec)
        return args, kwargs, [moving[id(self.flat[i])] for i in self.floats]

    def step(self, decision: Decision, moving: Sequence[torch.Tensor], distance: float) -> bool:
        """Move against the gradient as far as would lower a linear margin by `distance`; False where there is none."""
        assert decision.margin is not None
        gradients = torch.autograd.grad(decision.margin, moving, allow_unused=True)
        slopes = {id(self.flat[i]): (i, g) for i, g in zip(self.floats, gradients, strict=True) if g is not None}
        square = sum(float(g.double().pow(2).sum()) for _, g in slopes.values())
        if not 1e-24 < square < 1e24:
            return False
        moved: dict[int, torch.Tensor] = {}
        for key, (index, gradient) in slopes.items():
            leaf = self.flat[index]
            moved[key] = self._within(index, (leaf.double() - gradient.double() * (distance / square)).to(leaf.dtype))
        before, self.flat = self.flat, [moved.get(id(leaf), leaf) for leaf in self.flat]
        return not all(torch.equal(self.flat[index], before[index]) for index, _ in slopes.values())

    def scaled(self, factor: float) -> Self:
        """The input with every floating-point leaf multiplied."""
        return self._mapped(lambda i, leaf: leaf * factor if leaf.is_floating_point() else leaf)

    def mutated(self, number: int, chance: random.Random, hints: Sequence[float]) -> Self:
        """Another input near this one: a value, or a hint from the code, put at all, half or one of its places."""
        share = (1.0, 0.5, 0.25, 0.0)[number % 4]
        level = number // 4 if number < 24 else chance.randrange(1000)
        hint = hints[number // 2 % len(hints)] if hints and number % 2 == number // 4 % 2 else None
        one = chance.random()

        def change(index: int, leaf: torch.Tensor) -> torch.Tensor:
            if not leaf.numel() or leaf.is_complex():
                return leaf
            value = self._value(index, leaf, level, one, hint)
            if share == 1.0 or leaf.dim() == 0:
                return torch.full_like(leaf, value)
            places = torch.rand(leaf.shape, generator=torch.Generator().manual_seed(number)) < share
            if share == 0.0:
                places.view(-1)[chance.randrange(leaf.numel())] = True
            return torch.where(places.to(leaf.device), torch.full_like(leaf, value), leaf)

        return self._mapped(change)

    def drawn(self, number: int) -> Self:
        """Another input of the same kind, every number of it by chance."""
        chance = torch.Generator().manual_seed(number)

        def change(index: int, leaf: torch.Tensor) -> torch.Tensor:
            if not leaf.numel() or not leaf.is_floating_point():
                return leaf
            wide = leaf.detach().double()
            spread = float(wide.std(correction=0)) or 1.0
            made = torch.randn(leaf.shape, generator=chance, dtype=torch.float64) * spread + float(wide.mean())
            return made.to(leaf.dtype).to(leaf.device)

        return self._mapped(change)

    def _value(self, index: int, leaf: torch.Tensor, level: int, one: float, hint: float | None) -> Any:
        name, power = self.names[index], 10.0 ** (1 + level % 4)
        if leaf.is_floating_point():
            low, high = self.limits.get(name, (-power, power))
            usual = (0.0, 1.0, low, high)[level] if level < 4 else low + (high - low) * one
            return usual if hint is None else hint
        least, most = self.whole[name]
        if hint is not None:
            return min(max(int(hint), least), most)
        if most - least > 1 and level < 12 and leaf.numel() == 1:
            return min(most, least + 2**level)
        return (least, most, (least + most) // 2)[level] if level < 3 else least + int((most - least + 1) * one)

    def _mapped(self, change: Callable[[int, torch.Tensor], torch.Tensor]) -> Self:
        """One tensor passed twice stays one tensor."""
        made: dict[int, torch.Tensor] = {}
        for index, leaf in enumerate(self.flat):
            if isinstance(leaf, torch.Tensor) and id(leaf) not in made:
                made[id(leaf)] = self._within(index, change(index, leaf))
        other = copy.copy(self)
        other.flat = [made.get(id(leaf), leaf) for leaf in self.flat]
        return other

    def _within(self, index: int, leaf: torch.Tensor) -> torch.Tensor:
        if self.names[index] not in self.limits or leaf.dtype == torch.bool or leaf.is_complex():
            return leaf
        low, high = self.limits[self.names[index]]
        return leaf.clamp(low, high) if leaf.is_floating_point() else leaf.clamp(int(low), int(high))


def _whole_range(name: str, leaf: torch.Tensor, model: torch.nn.Module, limits: Ranges) -> tuple[int, int]:
    """The least and the greatest value of a mask, of indices, or of a count of which nothing is known."""
    if leaf.dtype != torch.bool and name in limits:
        return int(limits[name][0]), int(limits[name][1])
    if leaf.dtype == torch.bool or "mask" in name.lower():
        return 0, 1
    if leaf.dtype == torch.uint8:
        return 0, 255
    if leaf.numel() == 1 and not any(isinstance(m, torch.nn.Embedding) for m in model.modules()):
        return 0, _COUNT
    low, high = integer_range(name, model)
    return min(low, int(leaf.min()) if leaf.numel() else low), max(high - 1, int(leaf.max()) if leaf.numel() else 0)
