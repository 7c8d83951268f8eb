"""Variations with intent: other values and other sizes of a probe's example inputs, each under a telling label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from onnxlint.probes.domains import Mode, sampler
from onnxlint.probes.examples import Example, ProbeFailure, call, load, seed_everything
from onnxlint.probes.synthesis import integer_range
from onnxlint.records import Probe

DEFAULT_SIZES = (1, 3, 5)
_LONG = 16  # from this size on, a dim is rather a length than a count: it is halved, doubled and made odd instead
MOST_SIZES = 4  # per dim: each costs one eager run and one run of every exported graph

MODES: tuple[tuple[Mode, int], ...] = (
    ("normal", 0),
    ("normal", 1),
    ("scaled", 2),
    ("negative", 3),
    ("positive", 4),
    ("small", 5),
)
DEGENERATE: tuple[tuple[Mode, int], ...] = (("zeros", 6), ("equal", 7))
_SEEDS = 1000  # variations draw from seeds that no example uses


@dataclass(frozen=True, slots=True)
class Variation:
    """Other arguments for the model. `sizes` holds the size of every dynamic dim here; `label` is for people.

    A degenerate variation (zeros, all equal) is for finding branches: it ties sorts and maxima, so a runtime may
    rightly differ on it.
    """

    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: dict[str, int] = field(default_factory=dict)
    kind: Literal["values", "sizes"] = "values"
    degenerate: bool = False


def variations(probe: Probe, model: torch.nn.Module, example: Example) -> list[Variation]:
    """Seven to ten other values, then every dynamic dim at up to four other sizes, alone and all together."""
    sizes = example_sizes(example)
    make = _from_user(probe, example) if probe.vary is not None else _from_example(model, example)
    modes = MODES if probe.vary is not None else (*MODES, *DEGENERATE)
    found: list[Variation] = []
    for mode, seed in modes:
        args, kwargs = make(sizes, seed, mode)
        degenerate = mode in ("zeros", "equal")
        found.append(Variation(f"values[{mode}#{seed}]", args, kwargs, dict(sizes), degenerate=degenerate))
    for label, changed in size_changes(sizes, probe.sizes):
        args, kwargs = make(changed, len(found), "normal")
        found.append(Variation(label, args, kwargs, changed, kind="sizes"))
    return found


def example_sizes(example: Example) -> dict[str, int]:
    """The size of every dynamic dim on the example."""
    values = dict(zip(example.parameters, example.values, strict=True))
    return {dim: values[name].shape[axis] for name, axes in example.dynamic.items() for axis, dim in axes.items()}


def size_changes(
    sizes: Mapping[str, int], declared: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Labels and sizes: one dim at a time, then all dims moved together."""
    together = dict(sizes)
    for dim, size in sizes.items():
        others = [s for s in dict.fromkeys(declared.get(dim) or _usual(size)) if s != size][:MOST_SIZES]
        for other in others:
            yield f"{dim}={other}", {**sizes, dim: other}
        if others:
            together[dim] = others[-1]
    if sum(together[dim] != sizes[dim] for dim in sizes) > 1:
        yield "all-sizes", together


def _usual(size: int) -> tuple[int, ...]:
    return DEFAULT_SIZES if size < _LONG else (size // 2, size + 1, size * 2)


Made = tuple[tuple[Any, ...], dict[str, Any]]
Maker = Callable[[Mapping[str, int], int, Mode], Made]


def _from_user(probe: Probe, example: Example) -> Maker:
    """Ask the user's `vary(sizes, seed, mode)`; what it raises is a ProbeFailure at the user's line."""
    name = probe.vary or ""
    function = load(name, probe)

    def make(sizes: Mapping[str, int], seed: int, mode: Mode) -> Made:
        seed_everything(_SEEDS + seed)
        given = call(function, (dict(sizes), seed, mode), name, probe)
        if isinstance(given, Mapping):
            front = [name for name in example.parameters[: len(example.args)] if name in given]
            return tuple(given[n] for n in front), {n: v for n, v in given.items() if n not in front}
        if isinstance(given, torch.Tensor):
            return (given,), {}
        if not isinstance(given, (tuple, list)):
            raise ProbeFailure(
                f"`{name}` returned a `{type(given).__qualname__}`",
                "return a tuple of positional arguments, or a dict by parameter name",
            )
        return tuple(given), {}

    return make


def _from_example(model: torch.nn.Module, example: Example) -> Maker:
    """Vary the example itself: same structure and dtypes, each tensor within the domain its values suggest."""
    limits = {name: integer_range(name, model)[1] for name in example.parameters}

    def make(sizes: Mapping[str, int], seed: int, mode: Mode) -> Made:
        seed_everything(_SEEDS + seed)
        made: dict[tuple[int, tuple[int, ...]], torch.Tensor] = {}

        def vary(value: Any, axes: Mapping[int, str], limit: int) -> Any:
            if isinstance(value, torch.Tensor):
                if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
                    return value
                shape = tuple(sizes[axes[axis]] if axis in axes else size for axis, size in enumerate(value.shape))
                if (id(value), shape) not in made:  # one tensor passed twice stays one tensor
                    made[id(value), shape] = sampler(value.cpu(), limit)(shape, mode).to(value.device)
                return made[id(value), shape]
            if type(value) is dict:
                return {key: vary(item, {}, limit) for key, item in value.items()}
            if type(value) in (list, tuple):
                return type(value)(vary(item, {}, limit) for item in value)
            return value

        values = [
            vary(value, example.dynamic.get(name, {}), limits[name])
            for name, value in zip(example.parameters, example.values, strict=True)
        ]
        front = len(example.args)
        return tuple(values[:front]), dict(zip(example.kwargs, values[front:], strict=True))

    return make
