"""Variations with intent: other values and other sizes of a probe's example inputs, each under a telling label."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeVar

import torch
from torch import nn
from torch.utils import _pytree as pytree

from onnxlint.base.probe_records import Probe
from onnxlint.probes.common.nested import root, word
from onnxlint.probes.examples.examples import ProbeFailure, call, load, seed_everything
from onnxlint.probes.examples.synthesis import Sizes, integer_range, measured
from onnxlint.probes.examples.value_domains import Mode, is_mask, length_sampler, sampler
from onnxlint.probes.exporters import Example

DEFAULT_SIZES = (1, 3, 5)
_LONG = 16  # from this size on, a dim is rather a length than a count: it is halved, doubled and made odd instead
_FEW = 8  # a short one is shorter by this: fewer than any count that the code takes of it
MOST_SIZES = 4  # per dim: each costs one eager run and one run of every exported graph

_USUAL: tuple[Mode, ...] = ("normal", "normal", "scaled", "negative", "positive", "small")
MODES = tuple((mode, seed) for seed, mode in enumerate(_USUAL))
DEGENERATE: tuple[tuple[Mode, int], ...] = (("zeros", 6), ("equal", 7))
MASKS: tuple[tuple[Mode, int], ...] = (("full", 8), ("empty", 9), ("ragged", 10))  # all else stays the example's
EDGES: tuple[Mode, int] = ("edges", 11)
SCOUTS: tuple[tuple[Mode, int], ...] = (("huge", 12), ("constant", 13))
_MASK_MODES = tuple(mode for mode, _ in MASKS)
LAYOUTS = ("strided", "expanded")
_FURTHER = 100  # the first seed of those that are asked of the user's own `vary` beyond the usual ones
Changed = TypeVar("Changed", bound=Any)  # a Variation, or its run
Made = tuple[tuple[Any, ...], dict[str, Any]]
_SEEDS = 1000  # variations draw from seeds that no example uses


@dataclass(frozen=True, slots=True)
class Variation:
    """Other arguments for the model. `sizes` holds the size of every dynamic dim here; `label` is for people.

    A scout is worth an export's time only where eager goes another way on it than on all others.
    """

    label: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: dict[str, int] = field(default_factory=dict)
    kind: Literal["values", "sizes"] = "values"
    scout: bool = False


def variations(probe: Probe, model: nn.Module, example: Example, lost: list[str] | None = None) -> list[Variation]:
    """Other values, the most telling first, then every dynamic dim at up to four other sizes, alone and together.

    What the user's own `vary` raises loses that variation alone; why goes to `lost`. Raises ProbeFailure if it hangs.
    """
    sizes = example_sizes(example)
    make = _maker(probe, model, example)
    failures: list[ProbeFailure] = []
    result: list[Variation] = []

    def add(label: str, changed: dict[str, int], seed: int, mode: Mode, **options: Any) -> None:
        try:
            args, kwargs = make(changed, seed, mode)
        except ProbeFailure as failure:
            failures.append(failure)
            if lost is not None:
                lost.append(f"{label} was left out: {failure.reason}")
        else:
            result.append(Variation(label, args, kwargs, changed, **options))

    for mode, seed in MODES if probe.vary is not None else (*MODES, *DEGENERATE, *_further(model, example)):
        add(f"values[{mode}#{seed}]", dict(sizes), seed, mode, scout=(mode, seed) in SCOUTS)
    for number, (label, changed) in enumerate(size_changes(sizes, probe.sizes), len(MODES) + len(DEGENERATE)):
        add(label, changed, number, "normal", kind="sizes")
    if probe.vary is None:
        result += [_laid_out(example, sizes, layout) for layout in LAYOUTS]
    if failures and not result:
        raise failures[0]
    return result


def telling(changes: Sequence[Changed], count: int) -> list[Changed]:
    """The most telling few: other values and other sizes by turns, every dim once before any comes twice."""
    values = [change for change in changes if change.kind == "values"]
    seen: Counter[frozenset[str]] = Counter()
    ranked: list[tuple[int, Changed]] = []
    for change in changes:
        if change.kind == "sizes":
            moved = frozenset(dim for dim, size in change.sizes.items() if size != changes[0].sizes.get(dim))
            seen[moved] += 1
            ranked.append((seen[moved], change))
    sizes = [change for _, change in sorted(ranked, key=lambda pair: pair[0])]
    turns = itertools.chain.from_iterable(itertools.zip_longest(values, sizes))
    return [change for change in turns if change is not None][:count]


def resized(probe: Probe, model: nn.Module, example: Example, sizes: Mapping[str, int], label: str) -> Variation:
    """The inputs at these sizes. Raises ProbeFailure where the user's own `vary` does."""
    args, kwargs = _maker(probe, model, example)(sizes, len(MODES), "normal")
    return Variation(label, args, kwargs, dict(sizes), kind="sizes")


def more_of(probe: Probe, example: Example, count: int) -> Iterator[Made]:
    """More of what the user's own `vary` makes, in all modes; calls that raise are left out."""
    make = _from_user(probe, example)
    sizes = example_sizes(example)
    for seed in range(_FURTHER, _FURTHER + count):
        with contextlib.suppress(ProbeFailure):
            yield make(sizes, seed, MODES[seed % len(MODES)][0])


def _further(model: nn.Module, example: Example) -> Iterator[tuple[Mode, int]]:
    """The modes that mean something to these inputs only: masks, indices, numbers."""
    tensors = {n: v for n, v in zip(example.parameters, example.values, strict=True) if isinstance(v, torch.Tensor)}
    masks = {name for name, value in tensors.items() if is_mask(value, integer_range(name, model)[1])}
    if masks:
        yield from MASKS
    if any(not (v.is_floating_point() or v.is_complex()) for name, v in tensors.items() if name not in masks):
        yield EDGES
    if any(value.is_floating_point() for name, value in tensors.items() if name not in masks):
        yield from SCOUTS


def _laid_out(example: Example, sizes: dict[str, int], layout: str) -> Variation:
    """The example with tensors that are not contiguous, or that show one row at every place of their first axis."""
    made: dict[int, torch.Tensor] = {}

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided or not (value.dim() and value.numel()):
            return value
        if id(value) not in made:
            turned = value.transpose(0, -1).contiguous().transpose(0, -1)
            made[id(value)] = value[:1].expand(value.shape) if layout == "expanded" else turned
        return made[id(value)]

    args, kwargs = pytree.tree_map(change, (example.args, dict(example.kwargs)))
    return Variation(f"layout[{layout}]", args, kwargs, dict(sizes), scout=True)


def example_sizes(example: Example) -> dict[str, int]:
    """The size of every dynamic dim on the example."""
    values = example.leaves()
    return {dim: values[name].shape[axis] for name, axes in example.dynamic.items() for axis, dim in axes.items()}


def size_changes(sizes: Mapping[str, int], declared: Sizes) -> Iterator[tuple[str, dict[str, int]]]:
    """Labels and sizes: one dim at a time, then all dims moved together, then all long ones made short."""
    together = dict(sizes)
    for dim, size in sizes.items():
        others = [s for s in dict.fromkeys(declared.get(dim) or usual_sizes(size)) if s != size][:MOST_SIZES]
        for other in others:
            yield f"{dim}={other}", {**sizes, dim: other}
        if others:
            together[dim] = others[-1]
    if sum(together[dim] != sizes[dim] for dim in sizes) > 1:
        yield "all-sizes", together
    small = {n: size if declared.get(n) or size < _LONG else max(size // _FEW, 2) for n, size in sizes.items()}
    if small != sizes:
        yield "small-sizes", small
    # Two dims of similar sizes made equal: code that distinguishes them by size alone confuses them.
    free = sorted((dim for dim in sizes if not declared.get(dim)), key=lambda dim: sizes[dim])
    pairs = ((n, other) for n, other in itertools.pairwise(free) if sizes[n] < sizes[other] <= 4 * sizes[n])
    equal = next(({**sizes, one: sizes[other]} for one, other in pairs), None)
    if equal and len(set(together.values())) == len(together):
        yield "equal-sizes", equal


def usual_sizes(size: int) -> tuple[int, ...]:
    """Other sizes of a dim that has this one on the example."""
    return DEFAULT_SIZES if size < _LONG else (size // 2, size + 1, size * 2)


Maker = Callable[[Mapping[str, int], int, Mode], Made]


def _maker(probe: Probe, model: nn.Module, example: Example) -> Maker:
    """The user's `vary`, else the example itself varied: same structure and dtypes, each tensor within its domain."""
    if probe.vary is not None:
        return _from_user(probe, example)
    labels = example.leaves()
    limits = {label: integer_range(word(label), model)[1] for label in labels}
    shapes = {label: tuple(value.shape) for label, value in labels.items() if isinstance(value, torch.Tensor)}
    full = {label: share for label in shapes if (share := _share(label, labels[label], shapes)) is not None}

    def make(sizes: Mapping[str, int], seed: int, mode: Mode) -> Made:
        seed_everything(_SEEDS + seed)
        now = {}
        for label, shape in shapes.items():
            axes = example.dynamic.get(label, {})
            now[label] = tuple(sizes[axes[axis]] if axis in axes else size for axis, size in enumerate(shape))
        made: dict[tuple[int, tuple[int, ...]], torch.Tensor] = {}

        def vary(label: str, value: Any) -> Any:
            if type(value) not in (torch.Tensor, nn.Parameter) or value.layout != torch.strided:
                return value
            if mode in _MASK_MODES and not is_mask(value, limits[label]):
                return value
            key = (id(value), now[label])  # one tensor passed twice stays one tensor
            if key not in made:
                bounds = probe.ranges.get(label, probe.ranges.get(root(label)))
                sample = sampler(value.cpu(), limits[label], bounds)
                if bounds is None and label in full:
                    longest = int(full[label] * (measured(label, str(value.dtype), now) or 1))
                    sample = length_sampler(value.cpu(), longest)
                made[key] = sample(now[label], mode).to(value.device)
            return made[key]

        return example.mapped(vary)

    return make


def _from_user(probe: Probe, example: Example) -> Maker:
    """Ask the user's `vary(sizes, seed, mode)`; what it raises is a ProbeFailure at the user's line."""
    name = probe.vary or ""
    function = load(name, probe)

    def make(sizes: Mapping[str, int], seed: int, mode: Mode) -> Made:
        seed_everything(_SEEDS + seed)
        returned = call(name, probe, function, dict(sizes), seed, mode)
        if isinstance(returned, Mapping):
            front = [name for name in example.parameters[: len(example.args)] if name in returned]
            return tuple(returned[n] for n in front), {n: v for n, v in returned.items() if n not in front}
        if isinstance(returned, torch.Tensor):
            return (returned,), {}
        if not isinstance(returned, (tuple, list)):
            remedy = "return a tuple of positional arguments, or a dict by parameter name"
            raise ProbeFailure(f"`{name}` returned a `{type(returned).__qualname__}`", remedy)
        return tuple(returned), {}

    return make


def _share(label: str, value: Any, shapes: Mapping[str, tuple[int, ...]]) -> Fraction | None:
    """Which part of an axis the lengths of rows go up to: all of it, or what a stride leaves. None: they are none."""
    if not value.numel() or value.is_complex():
        return None
    longest, most = measured(label, str(value.dtype), shapes), int(value.max())
    if not longest or not 0 < most <= longest or int(value.min()) < 0:
        return None
    return Fraction(most, longest) if 2 * most <= longest else Fraction(1)
