"""Code that may run or not, or again: each alternative from one state, and what they leave of it joined."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import compress, islice
from operator import is_, is_not

from onnxlint.flow.interpreter.assignment_targets import Targets
from onnxlint.flow.state.budget import LOOPS
from onnxlint.flow.state.protocols import Replaced
from onnxlint.flow.values.domain import Value
from onnxlint.flow.values.joins import join, widen


class JoinedRuns(Targets):
    """The part of a frame that runs the arms of what is not decided, and the bodies of loops."""

    def arms(
        self, runs: Sequence[tuple[tuple[str, ...], Callable[[], bool]]], usual: Callable[[], bool] | None = None
    ) -> bool:
        """Run alternatives from one state, each under its exporters, and join what they leave; True if none ends. What
        follows is run for the exporters whose trace comes out of an arm: `if exporting: return x` keeps some away. It
        sees what the `usual` arm leaves, and of the others the names that this one does not bind."""
        before = self.scope.names
        self.engine.budget.spend(len(before) // 16)  # joining the states of very many variables takes its time
        mask = self.engine.context.exporters
        left: set[str] = set()
        after: list[dict[str, Value]] = []
        chosen: dict[str, Value] = {}
        written: list[tuple[Replaced, dict[tuple[int, str], Value]]] = []
        left_usually: dict[tuple[int, str], Value] | None = None
        with self.engine.within(exporters=mask):
            for exporters, run in runs:
                if not exporters:
                    continue
                self.scope.names = dict(before)
                if self.engine.context.exporters != exporters:
                    self.engine.narrow(exporters=exporters)
                ended, replaced = self.engine.noting(run)
                if replaced or not ended:
                    written.append((replaced, {key: obj.attrs[key[1]] for key, (obj, _) in replaced.items()}))
                    left_usually = written[-1][1] if run is usual else left_usually
                if not ended:
                    after.append(self.scope.names)
                    chosen = self.scope.names if run is usual else chosen
                    left.update(self.engine.context.exporters)
        if any(replaced for replaced, _ in written):
            self.engine.settle(written, left_usually)
        if not after:
            self.scope.names = before
            return True
        if not left.issuperset(mask):
            self.engine.narrow(exporters=tuple(e for e in mask if e in left))
        merged = reduce(_merge, after)
        self.scope.names = {**merged, **chosen} if chosen and len(after) > 1 else merged
        return False

    def loop(self, once: Callable[[], bool], twice: bool = True) -> None:
        """Run a loop body that may run any number of times, widening what grows."""
        outer = self.loop_exits
        at = self.engine.context
        if twice and at.looping >= LOOPS:
            twice = False
            self.engine.shortened(self, f"loops within {LOOPS} others, as at line {self.line}, are followed once only")
        for _ in range(2 if twice else 1):
            before = dict(self.scope.names)
            exits: list[dict[str, Value]] = []
            self.loop_exits = exits
            try:
                with self.engine.within(exporters=at.exporters, looping=at.looping + 1):
                    ended = once()
            finally:
                self.loop_exits = outer
            states = [*exits] + ([] if ended else [self.scope.names])
            merged = reduce(_merge, states, before)
            self.scope.names = dict(merged)
            for name in _differing(before, merged):
                if name in before and before[name] != merged[name]:
                    self.scope.names[name] = widen(merged[name])


def _merge(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    if a is b:
        return a
    return a | {name: join(a[name], b[name]) if name in a else b[name] for name in _differing(a, b)}


def _differing(a: dict[str, Value], b: dict[str, Value]) -> list[str]:
    """The names of `b` whose value is not that of `a`; both mostly are copies of one state, with names added behind."""
    if not all(map(is_, a, b)):
        return [name for name, v in b.items() if a.get(name) is not v]
    return [*compress(b, map(is_not, a.values(), b.values())), *islice(b, len(a), None)]
