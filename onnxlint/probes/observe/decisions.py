"""The decisions of a run: each truth value and number read from a tensor, and how close it was to changing.

A test such as `x.mean() > 5` leaves only its answer. Its margin (`x.mean() - 5`: how far the test is from the other
answer) is kept beside it, as a function of the inputs that has a gradient wherever the test has one.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import Module
from torch.overrides import TorchFunctionMode

from onnxlint.base.records import Location
from onnxlint.probes.common.numerics import tensors
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.examples.examples import seed_everything
from onnxlint.probes.exporters import Args, Kwargs

Site = tuple[str, int]  # path and line

_TRUTH = ("__bool__", "is_nonzero")
_NUMBER = ("item", "__int__", "__float__", "__index__", "tolist")
_GREATER = ("gt", "__gt__", "greater", "ge", "__ge__", "greater_equal")
_LESS = ("lt", "__lt__", "less", "le", "__le__", "less_equal")
_SAME = ("eq", "__eq__", "equal", "allclose", "isclose")
_OTHER = ("ne", "__ne__", "not_equal")
_AND = ("logical_and", "__and__", "__rand__", "bitwise_and", "__iand__")
_OR = ("logical_or", "__or__", "__ror__", "bitwise_or", "__ior__")
_NOT = ("logical_not", "__invert__", "bitwise_not")
# Functions that move elements about, and those that make numbers of truth values.
_MOVES = {"__getitem__", "view", "reshape", "flatten", "squeeze", "unsqueeze"}
_MOVES |= {"select", "transpose", "permute", "expand"}
_COUNTS = ("sum", "mean", "count_nonzero")
_CASTS = ("float", "double", "half", "int", "long", "to", "type", "type_as", "detach", "clone", "cpu")


@dataclass(frozen=True, slots=True)
class Decision:
    """A read of one element. `margin` is above 0 where a truth value holds, and the number itself for a number."""

    frames: tuple[Location, ...]
    truth: bool
    value: bool | float
    margin: torch.Tensor | None

    @property
    def site(self) -> Site:
        """The line that reads."""
        return self.frames[0].path, self.frames[0].line

    @property
    def distance(self) -> float:
        """How far the test is from its other answer; infinite where that is unknown."""
        return abs(float(self.margin.detach())) if self.margin is not None else float("inf")


@dataclass(slots=True)
class Decided:
    """What one run decided, in order, and what came out; `constants` are numbers that tensors were compared with."""

    decisions: list[Decision] = field(default_factory=list)
    constants: dict[float, None] = field(default_factory=dict)  # in the order of the run
    outputs: tuple[torch.Tensor, ...] = ()
    error: Exception | None = None

    def at(self, site: Site) -> list[Decision]:
        """The truth values of one line."""
        return [d for d in self.decisions if d.truth and d.site == site]

    def answers(self, site: Site) -> list[bool]:
        """The same as plain answers."""
        return [bool(d.value) for d in self.at(site)]


def decide(
    model: Module, args: Args, kwargs: Kwargs, root: str | None, *, gradients: bool = False, invert: Site | None = None
) -> Decided:
    """Run a model, seeded, on inputs that it may write to; the first truth value read at `invert` is negated."""
    decided = Decided()
    seed_everything()
    try:
        with torch.set_grad_enabled(gradients), _Watch(root, invert, decided):
            outputs = model(*args, **kwargs)
        decided.outputs = tuple(tensors(outputs))
    except Exception as error:  # noqa: BLE001 - user code raises anything, and it is the result
        decided.error = error
    return decided


class _Watch(TorchFunctionMode):  # type: ignore[misc]  # torch is untyped here
    """Follows margins through the functions of torch, and writes down every read."""

    def __init__(self, root: str | None, invert: Site | None, decided: Decided) -> None:
        super().__init__()
        self._decided = decided
        self._root = root
        self._invert = invert
        self._margins: dict[int, torch.Tensor] = {}  # of truth values
        self._numbers: dict[int, torch.Tensor] = {}  # of numbers that were counted out of truth values
        self._alive: list[Any] = []  # an id means its tensor only as long as that lives

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in _TRUTH or name in _NUMBER:
            return self._read(args[0], result, truth=name in _TRUTH or isinstance(result, bool))
        first = args[0] if args else None
        if not isinstance(result, torch.Tensor) or not isinstance(first, torch.Tensor) or first.is_complex():
            return result
        if result.dtype == torch.bool:
            followed, table = self._truth(name, func, args, kwargs), self._margins
        else:
            followed, table = self._counted(name, func, args, kwargs, result), self._numbers
        if followed is not None and followed.shape == result.shape:
            table[id(result)] = followed
            self._alive.append(result)
        return result

    def _read(self, tensor: torch.Tensor, result: Any, *, truth: bool) -> Any:
        frames = user_frames(sys._getframe(2), self._root)
        if not frames or tensor.numel() != 1 or tensor.is_complex():
            return result
        number = self._numbers.get(id(tensor), tensor)
        margin = self._margin(tensor) if truth else (number if number.requires_grad else None)
        value = bool(result) if truth else float(tensor.detach())
        decision = Decision(frames, truth, value, None if margin is None else margin.reshape(()))
        self._decided.decisions.append(decision)
        if truth and decision.site == self._invert:
            self._invert = None
            return not result
        return result

    def _margin(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Of a tensor's truth: it holds where the number is not 0."""
        return self._margins.get(id(tensor)) if tensor.dtype == torch.bool else self._number(tensor).abs()

    def _number(self, value: Any) -> torch.Tensor:
        if not isinstance(value, torch.Tensor):
            return torch.as_tensor(value, dtype=torch.float64)
        return self._numbers.get(id(value), value).double()

    def _truth(self, name: str, function: Any, args: Any, kwargs: Any) -> torch.Tensor | None:
        if name in (*_GREATER, *_LESS, *_SAME, *_OTHER) and len(args) > 1:
            if any(isinstance(a, torch.Tensor) and a.is_complex() for a in args[:2]):
                return None
            if isinstance(args[1], (int, float)) and not isinstance(args[1], bool):
                self._decided.constants[float(args[1])] = None
            gap = self._number(args[0]) - self._number(args[1])
            if name in _GREATER:
                return gap
            return -gap if name in _LESS else (gap.abs() if name in _OTHER else -gap.abs())
        if name in _AND or name in _OR:
            # A truth value that has no margin is worth 1 or -1, and never moves.
            pair = map(torch.as_tensor, args[:2])
            one, other = (self._margins.get(id(tensor), tensor.double() * 2 - 1) for tensor in pair)
            return torch.minimum(one, other) if name in _AND else torch.maximum(one, other)
        margin = self._margin(args[0])
        if margin is None:
            return None
        if name in _NOT:
            return -margin
        if name in ("any", "all") and margin.numel():
            reduce = torch.amax if name == "any" else torch.amin
            axes = args[1] if len(args) > 1 else kwargs.get("dim")
            keep = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
            return reduce(margin) if axes is None else reduce(margin, axes, keep)
        return function(margin, *args[1:], **kwargs) if name in _MOVES else None

    def _counted(self, name: str, function: Any, args: Any, kwargs: Any, result: torch.Tensor) -> torch.Tensor | None:
        """A count of truth values is flat. Its steps are smoothed for the gradient; the number itself stays exact."""
        if name not in (*_COUNTS, *_CASTS, *_MOVES):
            return None
        soft, margin = self._numbers.get(id(args[0])), self._margins.get(id(args[0]))
        if soft is None and margin is not None:
            soft = torch.sigmoid(margin / (margin.detach().abs().mean() + 1e-6))
        if soft is None:
            return None
        moved = soft
        if name not in _CASTS:
            shape = {key: value for key, value in kwargs.items() if key != "dtype"}
            moved = (torch.sum if name == "count_nonzero" else function)(soft, *args[1:], **shape)
        return result.detach().double() + moved - moved.detach()
