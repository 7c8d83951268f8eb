"""When two outputs are the same: errors are measured against a float64 run, to separate noise from error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from onnxlint.base.probe_records import Tolerance
from onnxlint.probes.common.model_copies import copied

FACTOR = 10.0  # how many times eager's own error is still noise; correct exports stayed below 2
ULPS = 8.0  # eager's error is taken to be at least this many eps of the output's scale
AGAIN = 3.0  # the same where that would be coarse, as in bfloat16
TRUSTED = 1e4  # eager further than this many eps from float64: the two took different paths, float64 says nothing
FALLBACK = 512.0  # in eps of the scale: what is allowed without a float64 reference
COARSE = 0.05  # of the scale: more than this is no noise in any precision
FLUSHED = torch.finfo(torch.float32).tiny  # below it float32 is subnormal, which kernels may take for zero
SLIGHT = 5e-4  # of the scale, and ten times that of the spread: never called wrong; exporters drop small epsilons


Outputs = Sequence[Tensor]


@dataclass(frozen=True, slots=True)
class Difference:
    """How one output of ONNX Runtime differs from eager's. `shape` is set where the shapes or the number differ.

    `allowed` is the largest absolute difference that would have passed; `passes` says that it did.
    """

    output: int
    detail: str
    max_abs: float | None = None
    max_rel: float | None = None
    allowed: float = 0.0
    shape: bool = False
    passes: bool = False


def tensors(outputs: Any) -> list[Tensor]:
    """The tensors of a model's output, in the order in which both exporters flatten them."""
    return [leaf.detach() for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, Tensor)]


def values(outputs: Any) -> list[Tensor]:
    """As `tensors`, with Python numbers too: TorchScript returns a size as a tensor."""
    leaves = pytree.tree_leaves(outputs)
    return [torch.as_tensor(leaf).detach() for leaf in leaves if isinstance(leaf, (Tensor, bool, int, float))]


def widened(value: Any) -> Any:
    """A floating-point tensor in float64; anything else as it is."""
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def reference(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tensor] | None:
    """The outputs of a float64 copy of the model on the same input; None where it cannot run in float64."""
    try:
        args, kwargs = pytree.tree_map(widened, (tuple(args), dict(kwargs)))
        with torch.no_grad():
            return tensors(copied(model).double()(*args, **kwargs))
    except Exception:  # noqa: BLE001 - a model may insist on float32; the caller then allows more
        return None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What decides how far apart two outputs may be.

    `spread` is how far each output moves when the input does: where it hardly moves, small differences count.
    `precision` is the eps that the model works with, where that is coarser than the output's. A configured
    `tolerance` replaces all of that.
    """

    tolerance: Tolerance = field(default_factory=Tolerance)
    spread: Sequence[float] = ()
    precision: float = 0.0

    def moves(self, output: int) -> float:
        """How far this output moves when the input does; 0 if that is unknown."""
        return self.spread[output] if output < len(self.spread) else 0.0


def closely(actual: Sequence[Any], expected: Sequence[Tensor], bounds: Bounds) -> list[Difference]:
    """As `differences`, of which those pass that no float64 reference could find fault with."""
    return differences(actual, expected, None, bounds, factor=(FACTOR - 1) * ULPS)


def difference(actual: Sequence[Any], expected: Outputs, wide: Outputs | None, bounds: Bounds) -> Difference | None:
    """The worst of the `differences` that do not pass; None if the outputs agree."""
    return worst(differences(actual, expected, wide, bounds))


def worst(candidates: Sequence[Difference]) -> Difference | None:
    """The worst of those that do not pass."""
    return max((d for d in candidates if not d.passes), key=lambda d: (d.shape, d.max_abs or 0.0), default=None)


def largest(candidates: Sequence[Difference]) -> Difference | None:
    """Where the outputs agree: the one that is furthest from eager's, if only by noise."""
    return max((d for d in candidates if d.passes), key=lambda d: d.max_abs or 0.0, default=None)


def differences(
    actual: Sequence[Any], expected: Outputs, wide: Outputs | None, bounds: Bounds, factor: float = FALLBACK
) -> list[Difference]:
    """How far each of ONNX Runtime's arrays is from eager's tensor; an output that has no number has none.

    Shapes, integers, booleans, and where NaN and infinity stand, must be the same. `wide` is the float64 reference;
    `factor` is what is allowed, in eps of the scale, without one.
    """
    if len(actual) != len(expected):
        return [Difference(0, f"{len(actual)} outputs instead of {len(expected)}", shape=True)]
    references = wide if wide is not None and len(wide) == len(expected) else [None] * len(expected)
    compared = (
        _compare(index, tensor(ours), theirs.cpu(), None if ref is None else ref.cpu(), bounds, factor)
        for index, (ours, theirs, ref) in enumerate(zip(actual, expected, references, strict=True))
    )
    return [one for one in compared if one is not None]


def tensor(value: Any) -> Tensor:
    """An output of a runtime as a tensor."""
    if isinstance(value, Tensor):
        return value
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":  # ml_dtypes' type, which torch does not read
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _compare(
    index: int, ours: Tensor, theirs: Tensor, wide: Tensor | None, bounds: Bounds, factor: float
) -> Difference | None:
    if theirs.is_complex() and not ours.is_complex():
        theirs = torch.view_as_real(theirs.resolve_conj())  # ONNX keeps complex numbers as pairs
        wide = None if wide is None or not wide.is_complex() else torch.view_as_real(wide.resolve_conj())
    if ours.shape != theirs.shape:
        return Difference(index, f"shape {tuple(ours.shape)} instead of {tuple(theirs.shape)}", shape=True)
    wide = wide if wide is not None and wide.shape == theirs.shape else None
    if not theirs.is_floating_point():
        return _compare_exactly(index, ours, theirs, wide)
    return _compare_floats(index, ours, theirs, wide, bounds, factor)


def _compare_exactly(index: int, ours: Tensor, theirs: Tensor, wide: Tensor | None) -> Difference | None:
    unlike = ours.to(theirs.dtype) != theirs
    # Where float64 disagrees with eager, the value is a tie.
    wrong = unlike if wide is None else unlike & (wide.to(theirs.dtype) == theirs)
    count = int(wrong.sum())
    if not count:
        return None if bool(unlike.any()) else Difference(index, "", 0.0, passes=True)
    gap = (ours.double() - theirs.double()).abs()[wrong]
    what = f"{count} of {theirs.numel()} {'booleans' if theirs.dtype == torch.bool else 'integers'} differ"
    return Difference(index, what, float(gap.max()), _relative(gap, theirs[wrong]))


def _compare_floats(
    index: int, ours: Tensor, theirs: Tensor, wide: Tensor | None, bounds: Bounds, factor: float
) -> Difference | None:
    eps = max(torch.finfo(theirs.dtype).eps, bounds.precision)
    tolerance = bounds.tolerance
    a, b = ours.double(), theirs.double()
    excused = _overflowed(a, b, wide, eps)
    finite = torch.isfinite(b)
    for name, test in (("NaN", torch.isnan), ("infinity", torch.isposinf), ("-infinity", torch.isneginf)):
        wrong = (test(a) != test(b)) & ~excused
        if bool(wrong.any()):
            return Difference(index, _misplaced(name, test(b)[wrong], b.numel()), float("inf"), float("inf"))
    a, b = a[finite], b[finite]
    if not b.numel():
        return None
    gap = (a - b).abs()
    most = float(gap.max())
    if tolerance.absolute is not None or tolerance.relative is not None:
        bound = (tolerance.absolute or 0.0) + (tolerance.relative or 0.0) * b.abs()
        wrong, allowed = bool((gap > bound).any()), float(bound.min())
    else:
        allowed, ref = _allowed(b, None if wide is None else wide[finite].double(), eps, factor)
        allowed = max(allowed, FLUSHED, SLIGHT * min(float(b.abs().max()), 10 * bounds.moves(index)))
        wrong = float((a - ref).abs().max()) > allowed
    if not wrong:
        return Difference(index, "", most, None, allowed, passes=True)
    return Difference(index, f"max abs difference {most:.3g}", most, _relative(gap, b), allowed)


def _overflowed(a: Tensor, b: Tensor, wide: Tensor | None, eps: float) -> Tensor:
    """Where eager alone left its dtype's range: ONNX Runtime computes float16 partly in float32, as float64 would."""
    if wide is None:
        return torch.zeros_like(b, dtype=torch.bool)
    ref = wide.double()
    near = (a - ref).abs() <= min(FALLBACK * eps, COARSE) * ref.abs().clamp(min=1.0)
    return ~torch.isfinite(b) & torch.isfinite(ref) & torch.isfinite(a) & near


def _misplaced(name: str, ours: Tensor, total: int) -> str:
    """Whose NaN or infinity it is; `ours` says for each place that differs whether eager has it."""
    count, eager = ours.numel(), int(ours.sum())
    if eager in (0, count):
        one, other = ("PyTorch", "the export") if eager else ("the export", "PyTorch")
        return f"{name} in {one}'s answer and not in {other}'s, at {count} of {total} places"
    return f"{name} stands in other places: {eager} in PyTorch's answer alone, {count - eager} in the export's alone"


def _allowed(b: Tensor, wide: Tensor | None, eps: float, factor: float) -> tuple[float, Tensor]:
    """The largest error that is noise, and what to measure it against."""
    scale = float(b.abs().max()) or 1.0
    coarse = COARSE * scale
    if wide is not None and bool(torch.isfinite(wide).all()):
        error = float((b - wide).abs().max())
        if error <= min(TRUSTED * eps, max(COARSE, 2 * ULPS * eps)) * scale:
            floor = min(FACTOR * ULPS * eps * scale, coarse)
            return max(floor, min(FACTOR * error, max(coarse, AGAIN * error))), wide
    return min(factor * eps * scale, coarse), b


def precision(model: torch.nn.Module) -> float:
    """The coarsest eps among the model's floating-point parameters and buffers; 0 if it has none."""
    tensors_of = (*model.parameters(), *model.buffers())
    return max((torch.finfo(t.dtype).eps for t in tensors_of if t.is_floating_point()), default=0.0)


def spread(base: Sequence[Tensor], others: Sequence[Sequence[Tensor]]) -> list[float]:
    """How far each output moves from `base` over the other runs; 0 where nothing can be compared."""
    result = [0.0] * len(base)
    for other in others:
        for index, (a, b) in enumerate(zip(base, other, strict=False)):
            if a.shape == b.shape and not a.is_complex() and a.numel():
                gap = (a.double() - b.double()).abs()
                result[index] = max(result[index], float(gap[gap.isfinite()].max()) if gap.isfinite().any() else 0.0)
    return result


def _relative(gap: Tensor, theirs: Tensor) -> float:
    """The largest difference in units of the largest value: element by element, values near zero would rule."""
    scale = float(theirs.double().abs().max())
    return float(gap.max()) / scale if scale else float("inf")
