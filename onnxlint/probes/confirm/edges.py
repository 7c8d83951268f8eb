"""Answers of eager that hang on a rounding error, or on the order of equal values: no runtime can give the same."""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from onnxlint.probes.common import numerics
from onnxlint.probes.common.numerics import Bounds, Difference, Outputs
from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.observe.eager import Eager, Run
from onnxlint.probes.observe.observe import divergences, observe

EDGE = 0.1  # of the difference: eager that moves this much for nothing cannot tell who is wrong
SHARE = 0.75  # of the integers that differ: so many that rounding changes too; the rest would by other seeds
SEEDS, SOON = range(1, 7), 1  # floats show with the first whether they move; one integer may need them all
_CHOOSING = {
    torch.ops.aten.topk.default: ("k", "dim", "largest", "sorted"),
    torch.ops.aten.sort.default: ("dim", "descending"),
    torch.ops.aten.sort.stable: (),
}


def on_an_edge(eager: Eager, run: Run, gap: Difference, wanted: Outputs, answer: Tensor, bounds: Bounds) -> bool:
    """Whether eager itself gets as far from what it gave as an answer is, where the input moves by a rounding error,
    operators round otherwise or equal values swap. Not where the input took another branch than the example: which arm
    was kept is then the very question."""
    differing = divergences(eager.base.observation, [run.observation])
    if any(divergence.kind == "branch" or divergence.read in ("bool", "in") for divergence in differing):
        return False
    leaves = numerics.tensors if wanted is run.outputs else numerics.values
    usual, far = wanted[gap.output].cpu(), 0.0
    unstable = torch.zeros_like(usual, dtype=torch.bool)
    for number, mode in enumerate((OtherTies(), *map(OtherRounding, SEEDS))):
        seed = number if gap.max_abs != math.inf else 0  # an input that is zero by right may not become its own divisor
        args, kwargs = pytree.tree_map(partial(_nudged, seed), (run.args, run.kwargs))
        with mode:
            observed = observe(eager.inference(), args, kwargs)
        outputs = leaves(observed.outputs) if observed.error is None else []
        if gap.output < len(outputs) and (moved := outputs[gap.output].cpu()).shape == usual.shape:
            unstable |= moved != usual
            far = max(far, _covered(moved, usual, unstable, answer, gap, bounds))
        if far >= 1.0 or (number == SOON and far < EDGE and usual.is_floating_point()):
            break
    return far >= 1.0


def _nudged(seed: int, value: Any) -> Any:
    """A leaf of the input, its floats moved by about as much as rounding would; as it is for seed 0."""
    if not seed or not isinstance(value, Tensor) or not value.is_floating_point() or not value.numel():
        return value
    eps, noise = torch.finfo(value.dtype).eps, torch.Generator().manual_seed(seed)
    size = min(numerics.ULPS * eps, max(eps, numerics.SLIGHT)) * (float(value.abs().max()) or 1.0)
    return (value.double() + size * torch.randn(value.shape, generator=noise).to(value.device)).to(value.dtype)


def _covered(moved: Tensor, usual: Tensor, unstable: Tensor, answer: Tensor, gap: Difference, bounds: Bounds) -> float:
    """How much of the way to the answer eager has moved, in units of what makes an edge."""
    if not (usual.is_floating_point() or usual.is_complex()):
        wrong = answer.to(usual.dtype) != usual
        return int((wrong & unstable).sum()) / (SHARE * int(wrong.sum()))
    if gap.max_abs == math.inf:  # NaN and infinity have no distance: it is unstable where numbers move as a whole
        jump = numerics.worst(numerics.closely([moved], [usual], bounds))
        return (jump.max_rel or 0.0) / EDGE if jump is not None else 0.0
    return numerics.spread([usual], [[moved]])[0] / (EDGE * (gap.max_abs or math.inf))


class OtherTies(OperatorMode):
    """Within it, equal values come in another order out of `topk` and unstable sorts, which promise none of them."""

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func not in _CHOOSING or kwargs.get("stable") or not args[0].dim():
            return func(*args, **kwargs)
        options = {"dim": -1, **kwargs, **dict(zip(_CHOOSING[func], args[1:], strict=False))}
        values, dim = args[0], options["dim"]
        best, indices = func(values.flip(dim), **options)
        return best, values.shape[dim] - 1 - indices


class OtherRounding(OperatorMode):
    """Within it, what an operator rounds may go to a neighbour of the number that it goes to: Monte Carlo arithmetic.
    What float64 gives too was not rounded, and stays: values that are only moved, sums of small integers."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = func(*args, **kwargs)
        aliases = any(result.alias_info is not None for result in func._schema.returns)  # a view, or written in place
        if aliases or torch.Tag.nondeterministic_seeded in func.tags:
            return results
        try:
            wide, named = pytree.tree_map(numerics.widened, (args, kwargs))
            exact = func(*wide, **named)
        except RuntimeError:  # it takes no float64: nothing is known of its rounding
            return results
        return pytree.tree_map(self._rounded, results, exact)

    def _rounded(self, result: Any, exact: Any) -> Any:
        if not isinstance(result, Tensor) or not result.is_floating_point() or result.shape != exact.shape:
            return result
        steps = torch.randint(-1, 2, result.shape, generator=self._generator).to(result.device)
        moved = (result.double() * (1 + torch.finfo(result.dtype).eps * steps)).to(result.dtype)
        return torch.where(result.double() == exact.double(), result, moved)
