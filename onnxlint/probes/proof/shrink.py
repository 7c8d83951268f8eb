"""A counterexample made small: the smallest sizes and the simplest values on which the same thing still goes wrong."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from onnxlint.base.probe_records import Probe
from onnxlint.probes.common import stages
from onnxlint.probes.common.costs import LEAST, Deadline, cut_off
from onnxlint.probes.common.nested import word
from onnxlint.probes.confirm.trials import Confirmation, Trial, trial
from onnxlint.probes.examples.synthesis import LENGTHS
from onnxlint.probes.examples.vary import Variation
from onnxlint.probes.exporters import line_of
from onnxlint.probes.observe.eager import Eager, Run, execute
from onnxlint.probes.observe.observe import clone, divergences

_TRIES = 60  # runs of eager and of the export, for each counterexample
_SECONDS = 2.0
_SHARE = 0.3  # of the time that is left for all searches
_CLEAR = 0.5  # of the relative error that was found, which a smaller counterexample has to show
Change = Callable[[torch.Tensor], torch.Tensor]
Line = tuple[str, int]


def shrink(probe: Probe, eager: Eager, confirmation: Confirmation, failing: Trial, line: Line | None) -> Trial:
    """The smallest trial that fails as this one does; the same where none is smaller.

    Where the input went another way than the example at `line`, which explains the failure, or broke a guard of it, a
    smaller one has to do so too.
    """
    if failing.calls != 1 or failing.run is eager.base or probe.vary is not None:
        return failing
    stages.stage(f"looking for a smaller counterexample than {failing.run.label}")
    return _Shrinker(probe, eager, confirmation, failing, line).run()


class _Shrinker:
    def __init__(self, probe: Probe, eager: Eager, confirmation: Confirmation, whole: Trial, line: Line | None) -> None:
        self.probe, self.eager, self.confirmation, self.line = probe, eager, confirmation, line
        self.whole = self.best = whole
        self.goal = self._shows(whole.run)  # what a smaller one has to show too
        self.until = Deadline.after(eager.costs.left(_SECONDS, _SHARE))
        self.tries = 0

    def run(self) -> Trial:
        """Sizes first, since everything else is then cheaper; once more when less of the values is left."""
        names = list(self.best.run.leaves)
        for final in (False, True):
            for dim in self.best.run.sizes:
                ways = ((size, last) for size in self._smaller(dim) for last in (False, True))
                any(self._try(partial(self._cut, dim, size, last), {dim: size}) for size, last in ways)
            for name in names:
                any(self._try(partial(_only, name, simple)) for simple in (_ROUND if final else (*_PLAIN, *_ROUND)))
            for name in names if not final else ():
                self._fewer(name)
        return self.best

    def _smaller(self, dim: str) -> list[int]:
        size, declared = self.best.run.sizes[dim], self.probe.sizes.get(dim)
        if declared:
            return sorted(s for s in declared if s < size)
        return [s for s in dict.fromkeys((1, 2, 3, size // 2)) if 0 < s < size]

    def _cut(self, dim: str, size: int, last: bool, name: str, leaf: torch.Tensor) -> torch.Tensor:
        for axis, its in self.eager.example.dynamic.get(name, {}).items():
            if its == dim:
                leaf = leaf.narrow(axis, leaf.shape[axis] - size if last else 0, size)
        return leaf

    def _fewer(self, name: str) -> None:
        """Put zeros in the place of what is not needed: halves, then quarters, down to single values."""
        leaf = self.best.run.leaves[name]
        if not isinstance(leaf, torch.Tensor) or leaf.is_complex():
            return
        part = max(leaf.numel() // 2, 1)
        while part and not self._spent():
            for start in range(0, leaf.numel(), part):
                self._try(partial(_only, name, partial(_emptied, start, part)))
            part //= 2

    def _spent(self) -> bool:
        return self.tries >= _TRIES or self.until.left < 0

    def _try(self, change: Callable[[str, torch.Tensor], torch.Tensor], sizes: dict[str, int] | None = None) -> bool:
        """Take the changed input if it still fails; False where it does not, or where nothing changed."""
        if self._spent():
            return False
        run = self.best.run
        made: dict[int, torch.Tensor] = {}

        def changed(name: str, leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor) and id(leaf) not in made:
                made[id(leaf)] = self._within(name, change(name, leaf))
            return made.get(id(leaf), leaf)

        args, kwargs = self.eager.example.called_with(run.args, run.kwargs).mapped(changed)
        tensors = ((leaf, made[id(leaf)]) for leaf in run.leaves.values() if isinstance(leaf, torch.Tensor))
        if all(a.shape == b.shape and torch.equal(a, b) for a, b in tensors):
            return False
        self.tries += 1
        variation = Variation(run.label, clone(args), clone(kwargs), {**run.sizes, **(sizes or {})}, run.kind)
        model = self.eager.untouched()
        with cut_off(self.until.left + LEAST):
            smaller = execute(model, self.eager.example, variation, self.probe.root)
        if smaller.observation.error is not None or self._shows(smaller) != self.goal:
            return False
        if not _finite(smaller) and _finite(self.whole.run):
            return False  # a zero that is divided by shows something else
        again = trial(self.probe, self.eager, self.confirmation, smaller)
        if again.result is not self.best.result or self._faint(again):
            return False
        self.best = again
        return True

    def _faint(self, smaller: Trial) -> bool:
        """Whether half of the error is gone, against the size of the answer: nobody is convinced by what is left."""
        before, after = self.whole.difference, smaller.difference
        if before is None or after is None or before.max_rel is None or after.max_rel is None:
            return False
        if math.inf in (after.max_abs, after.max_rel):
            return math.inf not in (before.max_abs, before.max_rel)  # a graph that divides by 0 shows something else
        return after.max_rel < _CLEAR * before.max_rel

    def _within(self, name: str, leaf: torch.Tensor) -> torch.Tensor:
        whole = self.whole.run.leaves.get(name)
        if LENGTHS.search(word(name).lower()) and isinstance(whole, torch.Tensor) and whole.numel():
            leaf = leaf.clamp(min=whole.min())  # nobody asks for a row of length 0 who did not before
        bounds = self.probe.ranges.get(name.partition(".")[0])
        return leaf if bounds is None or leaf.dtype == torch.bool or leaf.is_complex() else leaf.clamp(*bounds)

    def _shows(self, run: Run) -> tuple[bool, bool]:
        """Whether the input goes another way than the example there, and whether it breaks a guard made there."""
        places = set(map(line_of, divergences(self.eager.base.observation, [run.observation])))
        guards = [guard for guard in self.confirmation.export.guards if line_of(guard) == self.line]
        return self.line in places, any(guard.holds(run.leaves) is False for guard in guards)


def _finite(run: Run) -> bool:
    return all(bool(t.isfinite().all()) for t in run.outputs if t.is_floating_point() or t.is_complex())


def _only(wanted: str, make: Change, name: str, leaf: torch.Tensor) -> torch.Tensor:
    return make(leaf) if name == wanted else leaf


def _emptied(start: int, length: int, tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.clone().contiguous().view(-1)
    flat[start : start + length] = 0
    return flat.view(tensor.shape)


def _leveled(tensor: torch.Tensor) -> torch.Tensor:
    """The largest value everywhere."""
    if not tensor.numel() or not tensor.is_floating_point():
        return tensor
    return tensor.flatten()[tensor.abs().argmax()].expand(tensor.shape).clone()


def _rounded(digits: int | None, tensor: torch.Tensor) -> torch.Tensor:
    """So many decimals; without a number, one digit of the largest value, and zeros."""
    if digits is not None:
        return torch.round(tensor, decimals=digits) if tensor.is_floating_point() else tensor
    largest = float(tensor.abs().max()) if tensor.numel() and tensor.is_floating_point() else 0.0
    if not 0.0 < largest < math.inf:
        return tensor
    return torch.round(tensor.double(), decimals=-math.floor(math.log10(largest))).to(tensor.dtype)


# The simplest first.
_PLAIN: tuple[Change, ...] = (torch.zeros_like, torch.ones_like, _leveled)
_ROUND: tuple[Change, ...] = tuple(partial(_rounded, digits) for digits in (None, 0, 1, 2))
