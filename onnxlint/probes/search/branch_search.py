"""The input that takes the other branch: looked for along gradients, by scaling, then by chance; or the branch forced.

Only what no variation moved is looked for, so a model whose lines decide nothing on its data costs nothing here.
"""

import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch.utils import _pytree as pytree

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Location
from onnxlint.probes.common import stages
from onnxlint.probes.common.costs import LEAST, Deadline, TooLong, cut_off
from onnxlint.probes.common.numerics import Bounds, difference, precision
from onnxlint.probes.examples.vary import Variation, more_of
from onnxlint.probes.observe.decisions import Decided, Site, decide
from onnxlint.probes.observe.eager import Eager, Run, execute, goes_its_own_way
from onnxlint.probes.observe.observe import clone
from onnxlint.probes.search.search_points import Point

_SITES = 8  # lines of one model that are searched for
_STARTS = 3  # inputs that the gradient is followed from
_STEPS = 10  # along the gradient, from each
_TRIES = 60  # inputs by scaling and by chance, for each line
_DRAWS = 15  # further inputs at random, for each line and size
_SECONDS = 4.0  # for all lines of one model
_SHARE = 0.7  # of the time that is left for all searches
_SECOND = 1.0  # that it gets in any case: what it finds is the proof
_FACTORS = (-1.0, 10.0, 0.1, 100.0, 0.01, -100.0, 1e4, 1e-3, 0.0)
_TARGETS = (10.0, -10.0, 1e3, -1e3, 1e6, -1e6, 0.0)  # that numbers which became Python's are driven to
_NUMBERS = ("item", "int", "float", "index")  # the kinds of reads that make a number of a tensor's element
_HINTS = 4  # constants of the code that are tried as values


class Fate(StrEnum):
    """What the search made of a branch."""

    FLIPPED = "flipped"  # an input takes the other way
    DIFFERS = "forced and differs"  # none found; forced the other way, the outputs differ
    SAME = "forced and nothing differs"
    OPEN = "not decided"  # none found, and forced it raised


@dataclass(frozen=True, slots=True)
class Branch:
    """A line whose test no variation moved, and what the search made of it."""

    frames: tuple[Location, ...]
    fate: Fate
    detail: str
    variation: str = ""


def search(probe: Probe, eager: Eager) -> list[Branch]:
    """Look for inputs that turn what no run turned; they join `eager.runs`. Skips models that draw at random."""
    if eager.random or not any(e.frames for run in eager.accepted for e in run.observation.escapes):
        return []
    return _Search(probe, eager).run()


class _Search:
    """One search over one model; all tries share a clock and a stream of random numbers."""

    def __init__(self, probe: Probe, eager: Eager) -> None:
        self.probe = probe
        self.eager = eager
        self.chance = random.Random(0)
        self.until = Deadline.after(max(_SECOND, eager.costs.left(_SECONDS, _SHARE)))
        self.tries = 0
        self.turned: set[Site] = set()  # by the last round of a loop or by zeros alone

    def run(self) -> list[Branch]:
        branches = []
        with contextlib.suppress(TooLong):  # what a run catches of it ends that run alone
            for site, start in list(self._unmoved().items())[:_SITES]:
                stages.stage(f"looking for an input that takes the other branch at {site[0]}:{site[1]}")
                branches += self._branch(site, start)
            escapes = self.eager.base.observation.escapes if self.probe.vary is None else ()
            numbers = [e for e in escapes if e.frames and e.kind in _NUMBERS and e.value not in ("True", "False")]
            for number in list(dict.fromkeys((e.frames[0].path, e.frames[0].line) for e in numbers))[:_SITES]:
                self._drive(number, self.eager.base)
        return branches

    def _unmoved(self) -> dict[Site, Run]:
        """The lines with equal truth values in every run, but for zeros and last rounds of loops; each with a run."""
        seen: dict[Site, set[tuple[str, ...]]] = {}
        first: dict[Site, Run] = {}
        whole: dict[Site, set[tuple[str, ...]]] = {}
        for run in self.eager.accepted:
            blank = run is not self.eager.base and _is_blank(run.args, run.kwargs)
            answers: dict[Site, list[str]] = {}
            for escape in run.observation.escapes:
                if escape.frames and (escape.kind == "bool" or escape.value in ("True", "False")):
                    answers.setdefault((escape.frames[0].path, escape.frames[0].line), []).append(escape.value)
            for site, values in answers.items():
                whole.setdefault(site, set()).add(tuple(values))
                if not blank:
                    seen.setdefault(site, set()).add(_rounds(values))
                    first.setdefault(site, run)
        self.turned = {site for site, answers in whole.items() if len(answers) > 1}
        return {site: first[site] for site, answers in seen.items() if len(answers) == 1}

    def _branch(self, site: Site, start: Run) -> list[Branch]:
        """What the search makes of one branch: nothing where eager itself refuses the inputs that take the other."""
        self.tries = 0
        before = self._decided(start.args, start.kwargs)
        answers = _rounds(before.answers(site))
        if before.error is not None or not answers:
            return []
        frames = before.at(site)[0].frames
        refused = False
        for begin, args, kwargs in self._everywhere(site, start, answers):
            run = self._accepted(args, kwargs, begin, f"search[{site[0]}:{site[1]}]")
            if run is not None:
                self.eager.runs.append(run)
                detail = f"an input that takes the other branch was found ({self.tries} tried)"
                return [Branch(frames, Fate.FLIPPED, detail, run.label)]
            refused = True
        return [] if refused or site in self.turned else [self._forced(site, start, frames)]

    def _everywhere(self, site: Site, start: Run, answers: tuple[Any, ...]) -> Iterator[tuple[Run, Any, Any]]:
        """Inputs on which the line answers otherwise than on the run that each comes with; zeros last."""
        blank: list[tuple[Run, Any, Any]] = []  # zeros take a branch, and often come to the same behind it
        for args, kwargs in self._candidates(site, start, answers):
            if _is_blank(args, kwargs):
                blank.append((start, args, kwargs))
            else:
                yield start, args, kwargs
        if self.probe.vary is None:
            yield from self._drawn(site, start)
        yield from blank

    def _drawn(self, site: Site, start: Run) -> Iterator[tuple[Run, Any, Any]]:
        """Inputs all of whose numbers are drawn, of the start's sizes and of the least that there are."""

        def elements(run: Run) -> int:
            return sum(int(leaf.numel()) for leaf in run.leaves.values() if hasattr(leaf, "numel"))

        for begin in (start, min(self.eager.accepted, key=elements)):
            point = Point(self.eager, begin, self.probe.ranges)
            usual = _rounds(self._decided(*point.arguments()).answers(site))
            for number in range(_DRAWS if point.floats and usual else 0):
                if self.until.left < 0:
                    return
                args, kwargs = point.drawn(number).arguments()
                decided = self._decided(args, kwargs)
                if decided.error is None and _rounds(decided.answers(site)) != usual:
                    yield begin, args, kwargs

    def _candidates(self, site: Site, start: Run, answers: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
        """Inputs on which the line answers otherwise, likeliest first; the first that eager accepts is taken."""

        def flips(args: Any, kwargs: Any) -> bool:
            decided = self._decided(args, kwargs)
            if decided.error is not None:  # it may have decided otherwise before
                return any(a != b for a, b in zip(decided.answers(site), answers, strict=False))
            return _rounds(decided.answers(site)) != answers

        if self.probe.vary is not None:
            for args, kwargs in more_of(self.probe, self.eager.example, _TRIES // 2):
                if self.until.left < 0:
                    return
                if flips(args, kwargs):
                    yield args, kwargs
            return
        others = [r for r in self.eager.runs if r.kind == "values" and r is not start]
        for run in (start, *others)[:_STARTS]:
            yield from self._downhill(site, run, answers)
        yield from (point for point in self._by_scale_and_chance(site, start, answers) if flips(*point))

    def _decided(self, args: Any, kwargs: Any, *, gradients: bool = False, invert: Site | None = None) -> Decided:
        self.tries += 1
        if not gradients:
            args, kwargs = clone((args, dict(kwargs)))
        with cut_off(self.until.left + LEAST):
            return decide(self.eager.untouched(), args, kwargs, self.probe.root, gradients=gradients, invert=invert)

    def _accepted(self, args: Any, kwargs: Any, start: Run, label: str) -> Run | None:
        variation = Variation(label, args, dict(kwargs), dict(start.sizes))
        with cut_off(self.until.left + LEAST):
            run = execute(self.eager.untouched(), self.eager.example, variation, self.probe.root)
        return run if run.observation.error is None else None

    def _downhill(self, site: Site, start: Run, answers: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
        """Follow the gradient of the nearest test's margin until it changes its sign."""
        point = Point(self.eager, start, self.probe.ranges)
        if not point.floats:
            return
        for _ in range(_STEPS):
            if self.until.left < 0:
                return
            args, kwargs, moving = point.with_gradients()
            decided = self._decided(args, kwargs, gradients=True)
            if decided.error is not None:
                return
            if _rounds(decided.answers(site)) != answers:
                yield point.arguments()
                return
            tests = [d for d in decided.at(site) if d.margin is not None and d.margin.requires_grad]
            near = min((d for d in tests if math.isfinite(d.distance)), key=lambda d: d.distance, default=None)
            if near is None:
                return
            beyond = 1.1 * near.distance + 1e-3  # a little further than where it turns
            if not point.step(near, moving, beyond if near.value else -beyond):
                return
        args, kwargs = point.arguments()
        if _rounds(self._decided(args, kwargs).answers(site)) != answers:
            yield args, kwargs

    def _by_scale_and_chance(self, site: Site, start: Run, answers: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
        """Scaled, constant and mixed inputs; from those that come nearest to the other answer, the next are made."""
        point = Point(self.eager, start, self.probe.ranges)
        for factor in _FACTORS:
            if point.floats and self.until.left >= 0:
                yield point.scaled(factor).arguments()
        start_decided = self._decided(*point.arguments())
        hints = [value + near for value in list(start_decided.constants)[:_HINTS] for near in (0.0, 1.0, -1.0)]
        best, distance = point, float("inf")
        for number in range(_TRIES):
            if self.until.left < 0:
                return
            candidate = (best if number % 2 else point).mutated(number, self.chance, hints)
            args, kwargs = candidate.arguments()
            decided = self._decided(args, kwargs)
            here = min((d.distance for d in decided.at(site)), default=float("inf"))
            if decided.error is None and _rounds(decided.answers(site)) != answers:
                yield args, kwargs
            elif decided.error is None and here <= distance:
                best, distance = candidate, here

    def _forced(self, site: Site, start: Run, frames: tuple[Location, ...]) -> Branch:
        looked = f"no input was found that takes the other branch ({self.tries} tried)"
        forced = self._decided(start.args, start.kwargs, invert=site)
        if (error := forced.error) is not None:
            ending = "takes too long" if isinstance(error, TooLong) else f"raises {type(error).__name__}"
            return Branch(frames, Fate.OPEN, f"{looked}; forced that way, eager PyTorch {ending}")
        bounds = Bounds(self.probe.tolerance, self.eager.spread, precision(self.eager.model))
        gap = difference(list(forced.outputs), start.outputs, None, bounds)
        if gap is None:
            return Branch(frames, Fate.SAME, f"{looked}; forced that way, the outputs stay the same")
        return Branch(frames, Fate.DIFFERS, f"{looked}; forced that way, the outputs differ: {gap.detail}")

    def _drive(self, site: Site, start: Run) -> None:
        """Drive a number that Python has read up and down; an input on which the path leaves all others is kept."""
        for target in _TARGETS:
            point = Point(self.eager, start, self.probe.ranges)
            if not point.floats or self.until.left < 0:
                return
            args, kwargs, moving = point.with_gradients()
            decided = self._decided(args, kwargs, gradients=True)
            read = next((d for d in decided.decisions if not d.truth and d.site == site and d.margin is not None), None)
            if read is None:
                return
            scale = max(abs(float(read.value)), 1.0)
            if not point.step(read, moving, float(read.value) - target * scale):
                return
            run = self._accepted(*point.arguments(), start, f"search[{site[0]}:{site[1]}]#{target:g}")
            if run is not None and goes_its_own_way(self.eager, run):
                self.eager.runs.append(run)
                return


def _is_blank(args: Any, kwargs: Any) -> bool:
    """Whether all numbers that go in are zeros."""
    floats = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.is_floating_point()]
    return bool(floats) and not any(bool(t.any()) for t in floats)


def _rounds(answers: Sequence[Any]) -> tuple[Any, ...]:
    """What a line answered, round by round; the last of several rounds is left out, after which a loop ends anyway."""
    return (*answers[:-1], len(answers)) if len(answers) > 1 else tuple(answers)
