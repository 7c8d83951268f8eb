"""Confirmation: an exported file in every runtime, against eager, on the example and on every variation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import ONNX_RUNTIME, Cause, Evidence, Outcome, Tried
from onnxlint.probes.common import numerics
from onnxlint.probes.common.costs import timed
from onnxlint.probes.confirm.edges import on_an_edge
from onnxlint.probes.confirm.engines import ORT, Engine, RuntimeRefused, Setup
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.examples.vary import Variation, telling
from onnxlint.probes.exporters import Export, Frames
from onnxlint.probes.observe.eager import Eager, Run, execute, with_leaf

MORE = 10.0  # times the difference on the example: another cause is at work


class Result(StrEnum):
    """What a runtime made of one input."""

    AGREES = "agrees"
    VALUES = "values"  # it ran and answered something else
    SHAPE = "shape"  # it ran and answered in another shape
    REFUSED = "refused"  # it raised


@dataclass(frozen=True, slots=True)
class Trial:
    """One input in the runtimes: `setup` is the one that failed, `noise` the largest difference that is agreement, and
    `unstable` an output that differs and that eager itself moves as far by a rounding error."""

    run: Run
    result: Result
    setup: Setup | None = None
    difference: numerics.Difference | None = None
    message: str = ""
    calls: int = 1
    noise: numerics.Difference | None = None
    unstable: int | None = None

    @property
    def fails(self) -> bool:
        """Whether the export and eager disagree here."""
        return self.result is not Result.AGREES

    def record(self) -> Tried:
        """What a report says of it."""
        other = self.setup is not None and self.setup.engine.name != ONNX_RUNTIME
        runtime = self.setup.engine.title if self.setup is not None and other else ""
        gap = self.difference or self.noise
        error, output = (gap.max_abs, gap.output) if gap is not None else (None, None)
        allowed = self.difference.allowed if self.difference is not None else None
        return Tried(self.run.label, self.result.value, error, allowed, output, runtime)

    @property
    def gap(self) -> float:
        """How far the answer is from eager's; 0 where there is no number for it."""
        return self.difference.max_abs or 0.0 if self.difference is not None else 0.0


@dataclass(slots=True)
class Confirmation:
    """What became of one exported file.

    `refusal` is why the checker, the loading, or the run of the example failed, and `refusing` the runtime that it
    failed in, None where it is the checker; the others were tried further. `random`: two runs without optimizations
    differ. `vanished` are inputs that the graph no longer has, `constant` dynamic axes that it made constant, as
    (leaf, axis, dim). `in_float32` tells what half precision lacked, where the trials are of the file in float32.
    """

    export: Export
    runtime: Runtime | None = None
    refusal: str = ""
    refusing: Setup | None = None
    random: bool = False
    trials: list[Trial] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    constant: list[tuple[str, int, str]] = field(default_factory=list)
    in_float32: str = ""

    @property
    def loaded(self) -> Runtime:
        """The file, which is there to be run."""
        assert self.runtime is not None
        return self.runtime

    @property
    def inputs(self) -> set[str]:
        """The leaves that the graph takes."""
        return {self.export.inputs.get(name, name) for name in self.loaded.inputs}

    def feeds(self, run: Run) -> dict[str, Any]:
        """What the graph's inputs get on an input. Raises RuntimeRefused for one that the arguments do not have."""
        return self.loaded.feeds(self.export.inputs, {**self.export.constants, **run.leaves})

    @property
    def failing(self) -> list[Trial]:
        """The trials in which the export and eager disagree, in order."""
        return [trial for trial in self.trials if trial.fails]

    @property
    def failing_at_once(self) -> list[Trial]:
        """Those of them that need no second call."""
        return [trial for trial in self.failing if trial.calls == 1]

    @property
    def alone(self) -> list[Trial]:
        """Those of them in which another runtime agreed with eager: the graph is right there."""
        first = self.runtime.engines[:1] if self.runtime is not None else []
        return [t for t in self.failing if t.calls == 1 and t.setup is not None and [t.setup.engine] != first]

    def fixed(self, example: Run, run: Run) -> list[str]:
        """The Python numbers that the graph no longer takes, and that another run gives otherwise than the example."""
        numbers = ((name, run.leaves.get(name)) for name in self.vanished)
        return [n for n, v in numbers if isinstance(v, (bool, int, float)) and v != example.leaves.get(n)]

    def otherwise_than(self, other: Trial) -> Self:
        """The same, with those counted as agreeing that fail as a known one does: they show nothing more."""
        return self.agreeing_on([t for t in self.failing if t.result is other.result and t.gap <= MORE * other.gap])

    def remark(self, probe: Probe, cause: Cause, frames: Frames, detail: str) -> Evidence:
        """What to know of an export although its outputs are right."""
        return Evidence(probe.name, self.export.exporter, cause, Outcome.OK, frames, detail, "example")

    def agreeing_on(self, trials: list[Trial]) -> Self:
        """The same, with these trials counted as agreeing."""
        return replace(self, trials=[Trial(t.run, Result.AGREES) if t in trials else t for t in self.trials])


def confirm(probe: Probe, eager: Eager, export: Export, engines: Sequence[Engine] = (ORT,)) -> Confirmation:
    """Check, load and run an exported file. Nothing that it does is raised."""
    confirmation = Confirmation(export)
    assert export.path is not None
    try:
        runtime = Runtime(export.path, engines)
        confirmation.runtime = runtime
        runtime.check()
        _look_at_inputs(eager, confirmation, runtime)
        feeds = confirmation.feeds(eager.base)
    except RuntimeRefused as refused:
        confirmation.refusal = str(refused)
        return confirmation
    first_runs = [_first_run(probe, eager, confirmation, engine, feeds) for engine in engines]
    plain = [answers for answers in first_runs if answers is not None]
    if eager.random or confirmation.random or not plain:
        return confirmation
    first, pace = timed(lambda: trial(probe, eager, confirmation, eager.base))
    confirmation.trials.append(first)
    count = eager.costs.affordable(len(eager.runs), pace, f"the {export.exporter} export")
    for run in eager.runs if count == len(eager.runs) else telling(eager.runs, count):
        confirmation.trials.append(trial(probe, eager, confirmation, run))
    if eager.stateful:
        second = replace(eager.base, label="example, second call", kind="values", outputs=eager.second)
        confirmation.trials.append(_compare(probe, eager, second, plain[0], runtime.setups[-1], calls=2))
    if not confirmation.failing:
        confirmation.trials += _vanished_trials(probe, eager, confirmation)
    return confirmation


def _first_run(
    probe: Probe, eager: Eager, confirmation: Confirmation, engine: Engine, feeds: Mapping[str, Any]
) -> list[Any] | None:
    """The answer of one engine to the example; None if it refuses, and then it is not tried further."""
    runtime = confirmation.loaded
    try:
        for setup in [setup for setup in runtime.setups if setup.engine is engine]:
            answers = runtime.run(feeds, setup)
        again = runtime.run(feeds, setup)
    except RuntimeRefused as refused:
        if confirmation.refusing is None:
            confirmation.refusal, confirmation.refusing = str(refused), setup
        runtime.engines.remove(engine)
        return None
    second = [torch.as_tensor(value) for value in again]
    confirmation.random |= numerics.worst(numerics.closely(answers, second, bounds_of(probe, eager))) is not None
    return answers


def bounds_of(probe: Probe, eager: Eager) -> numerics.Bounds:
    """How far apart two answers of this model may be."""
    return numerics.Bounds(probe.tolerance, eager.spread, max(numerics.precision(eager.model), eager.coarse))


def _look_at_inputs(eager: Eager, confirmation: Confirmation, runtime: Runtime) -> None:
    tensors = {name for name, leaf in eager.base.leaves.items() if isinstance(leaf, (torch.Tensor, bool, int, float))}
    confirmation.vanished = [name for name in eager.base.leaves if name in tensors - confirmation.inputs]
    asked = [(name, axis, dim) for name, axes in eager.example.dynamic.items() for axis, dim in axes.items()]
    confirmation.constant = [at for at in asked if runtime.constant_dims(confirmation.export.inputs, *at[:2])]


def trial(probe: Probe, eager: Eager, confirmation: Confirmation, run: Run) -> Trial:
    """The input in every session; the first disagreement counts."""
    tried = Trial(run, Result.AGREES)
    noise: list[numerics.Difference] = []
    for setup in confirmation.loaded.setups:
        try:
            answers = confirmation.loaded.run(confirmation.feeds(run), setup)
        except RuntimeRefused as refused:
            return Trial(run, Result.REFUSED, setup, message=str(refused))
        tried = _compare(probe, eager, run, answers, setup)
        if tried.fails:
            return tried
        noise += [tried.noise] if tried.noise is not None else []
    return replace(tried, noise=numerics.largest(noise))


def _compare(probe: Probe, eager: Eager, run: Run, answers: list[Any], setup: Setup, calls: int = 1) -> Trial:
    bounds = bounds_of(probe, eager)
    wanted = expected(len(answers), run)
    gaps = numerics.closely(answers, wanted, bounds)
    if numerics.worst(gaps) is not None:
        wide = numerics.reference(eager.inference(), run.args, run.kwargs) if calls == 1 else None
        gaps = numerics.differences(answers, wanted, wide, bounds)
    wrong = [gap for gap in gaps if calls == 1 and not gap.passes and not gap.shape]
    edges = [d.output for d in wrong if on_an_edge(eager, run, d, wanted, numerics.tensor(answers[d.output]), bounds)]
    gap = numerics.worst([gap for gap in gaps if gap.output not in edges])
    if gap is None:
        return Trial(run, Result.AGREES, calls=calls, noise=numerics.largest(gaps), unstable=min(edges, default=None))
    return Trial(run, Result.SHAPE if gap.shape else Result.VALUES, setup, gap, gap.detail, calls)


def expected(outputs: int, run: Run) -> Sequence[torch.Tensor]:
    """Eager's answer, with its Python numbers where a graph with so many outputs has them too."""
    return run.outputs if outputs == len(run.outputs) else numerics.values(run.observation.outputs)


def _vanished_trials(probe: Probe, eager: Eager, confirmation: Confirmation) -> Iterator[Trial]:
    """For every input that the graph lost: does eager's answer depend on it? Then the export is wrong there."""
    for name in confirmation.vanished:
        values = (run for run in eager.runs if run.kind == "values")
        other = next((run for run in values if differs(run.leaves.get(name), eager.base.leaves[name])), None)
        if other is None:
            continue
        args, kwargs = with_leaf(eager, name, other.leaves[name])
        variation = Variation(f"example with `{name}` of {other.label}", args, kwargs, dict(eager.base.sizes))
        run = execute(eager.inference(), eager.example, variation, probe.root)
        if run.observation.error is None:
            yield trial(probe, eager, confirmation, run)


def differs(one: Any, other: Any) -> bool:
    """Whether two leaves are not the same value."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape != other.shape or not torch.equal(one, other)
    return type(one) is not type(other) or one != other
