"""Evidence for one exporter's failure: which places explain it, with the counterexample kept for each."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import ONNX_RUNTIME, Cause, Evidence, GraphDiff, Outcome, Sides
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.confirm.engines import DEFAULT, ORT, RuntimeRefused, Setup
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial, expected
from onnxlint.probes.explain import causes, held_lines
from onnxlint.probes.explain.causes import Explanation
from onnxlint.probes.explain.disagreement import sides
from onnxlint.probes.explain.refusals import refused
from onnxlint.probes.exporters import line_of, torchscript
from onnxlint.probes.observe.eager import Eager, Run
from onnxlint.probes.observe.observe import divergences
from onnxlint.probes.proof import counterexample_view
from onnxlint.probes.proof.counterexample import Answered, Counterexample
from onnxlint.probes.proof.issue import UPSTREAM, write_issue
from onnxlint.probes.proof.repro_script import folder_of, write
from onnxlint.probes.proof.shrink import shrink
from onnxlint.probes.search.branch_search import Branch, Fate

_REPRODUCED = 3  # scripts per exporter: one per input that shows something new
_COMPARISONS = 2  # inputs of one exporter on which every side is asked
_DRAWN = 3  # graphs of one exporter
_COMPARED = (Outcome.WRONG_VALUES, Outcome.SHAPE_ERROR, Outcome.STATIC_DIM, Outcome.RUNTIME_ERROR)


def attribute(probe: Probe, eager: Eager, confirmation: Confirmation, outcome: Outcome) -> list[Evidence]:
    """Every place that explains why this exporter's outcome is not ok, with its counterexample."""
    if outcome is Outcome.EXPORT_ERROR:
        explanations = refused(probe, eager, confirmation)
        explanations = explanations or [_somewhere(eager, probe, confirmation.export.error, Cause.REFUSED)]
    elif outcome is Outcome.RUNTIME_ERROR:
        explanations = _not_loaded(probe, eager, confirmation)
    elif outcome is Outcome.NONDETERMINISTIC:
        explanations = causes.drawn(eager, confirmation, probe.root)
        explanations = explanations or [_somewhere(eager, probe, "its answer changes by chance")]
    else:
        explanations = _disagreeing(probe, eager, confirmation)
        explanations += _not_loaded(probe, eager, confirmation) if confirmation.refusing is not None else []
    return _Keeper(probe, eager, confirmation, outcome).evidence(explanations)


def eager_evidence(probe: Probe, eager: Eager) -> list[Evidence]:
    """Where eager PyTorch itself rejects sizes that are declared dynamic."""
    evidence: dict[object, Evidence] = {}
    for run in eager.fixed:
        seen = run.observation
        if not seen.error_frames or seen.error_frames[0] in evidence:
            continue
        claim = f"eager PyTorch rejects {run.label}: {_brief(str(seen.error))}"
        case = Counterexample("eager", run.label, claim, run.args, run.kwargs)
        script = _saved(probe, eager, case, len(evidence) + 1)
        what = Cause.EAGER, Outcome.EAGER_ERROR, seen.error_frames, claim, run.label
        evidence[seen.error_frames[0]] = Evidence(probe.name, "eager", *what, repro=script)
    return list(evidence.values())


def _saved(probe: Probe, eager: Eager, case: Counterexample, number: int) -> str | None:
    """Write a counterexample; where that fails, nothing is left of it, no evidence names it, and the run says so."""
    try:
        return write(probe, eager.model, eager.example, case, number)
    except OSError as error:
        shutil.rmtree(folder_of(probe, case.exporter, number), ignore_errors=True)
        reason = error.strerror or str(error)
        eager.costs.unkept.append(f"a counterexample ({case.exporter}, {case.variation}) cannot be kept: {reason}")
        return None


def searched_evidence(probe: Probe, branches: Sequence[Branch]) -> list[Evidence]:
    """What the search for other branches came to; SKIPPED marks an arm that may matter and that no input took."""
    outcomes = {Fate.DIFFERS: Outcome.SKIPPED, Fate.OPEN: Outcome.SKIPPED}
    seen = [(outcomes.get(b.fate, Outcome.OK), b.frames, b.detail, b.variation) for b in branches]
    return [Evidence(probe.name, "eager", Cause.BRANCH, *what) for what in seen]


def _not_loaded(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """What refused the file or the example: the checker, or one of the runtimes."""
    explanations = causes.drawn(eager, None, probe.root) if eager.random else []
    confirmation = causes.of_a_plain_node(eager, confirmation)
    places = confirmation.runtime.places(confirmation.refusal, probe.root) if confirmation.runtime is not None else []
    refusing = [Explanation(Cause.RUNTIME, frames, confirmation.refusal) for frames in places if frames]
    wrong = causes.wrong_before_it_fails(probe.root, eager, confirmation) if refusing else []
    explanations += [e for e in wrong if line_of(e) not in map(line_of, refusing)]
    return explanations or refusing or [_somewhere(eager, probe, confirmation.refusal, Cause.RUNTIME)]


def _disagreeing(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Explain every failing trial, the surest kind of evidence first; what stays open goes to the next kind."""
    alone = confirmation.alone
    if alone:
        mine = causes.computed_wrong(probe.root, eager, confirmation, alone[0]) or [_unplaced(eager, probe, alone[0])]
        rest = confirmation.agreeing_on(alone)
        return mine + (_disagreeing(probe, eager, rest) if rest.failing else [])
    # Nothing that was frozen explains what is wrong on the example, and it comes first.
    at_once = () if eager.stateful else confirmation.failing_at_once
    example = next((trial for trial in at_once if trial.run is eager.base), None)
    first: list[Explanation] = []
    if example is not None:
        computed = causes.computed_wrong(probe.root, eager, confirmation, example)
        parted = causes.export_only_branches(eager, confirmation.export.exporter, probe.root, computed)
        first = [replace(e, trial=example) for e in parted] or computed
    explanations = causes.lost_inputs(probe.root, eager, confirmation)
    scalars = [e for e in explanations if "Python" in e.detail]
    if confirmation.export.exporter == "torchscript":
        frozen = held_lines.judged(probe, eager, confirmation, causes.frozen(probe.root, eager, confirmation))
        explanations = scalars + frozen if frozen else explanations
    else:
        explanations += causes.guarded(confirmation if example is None else confirmation.otherwise_than(example))
    if eager.stateful:
        second = [trial for trial in confirmation.failing if trial.calls > 1]
        explanations += causes.mutating(eager, probe.root, (second or confirmation.failing)[0])
    explanations = first + explanations
    for trial in () if explanations else confirmation.failing_at_once[:1]:
        traced = confirmation.export.exporter == "torchscript" and trial.run is not eager.base
        explanations += causes.constants(probe.root, eager, trial) if traced else []
        explanations = explanations or causes.computed_wrong(probe.root, eager, confirmation, trial)
    if not explanations and confirmation.failing:
        explanations = [_unplaced(eager, probe, confirmation.failing[0])]
    fixed = (f"`{dim}` is a constant in the graph" for _, _, dim in confirmation.constant)
    return explanations or [_somewhere(eager, probe, detail, Cause.CONSTANT) for detail in fixed]


def _unplaced(eager: Eager, probe: Probe, trial: Trial) -> Explanation:
    cause = Cause.RUNTIME if trial.result is Result.REFUSED else Cause.MISMATCH
    return replace(_somewhere(eager, probe, trial.message, cause), trial=trial)


def _somewhere(eager: Eager, probe: Probe, detail: str, cause: Cause = Cause.MISMATCH) -> Explanation:
    """The model itself, where no line of it can be told."""
    return Explanation(cause, causes.forward(eager.model, probe.root), detail)


def _brief(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= 240 else folded[:237] + "…"


@dataclass(slots=True)
class _Keeper:
    """Turns explanations into evidence and writes the counterexamples they share."""

    probe: Probe
    eager: Eager
    confirmation: Confirmation
    outcome: Outcome
    began: float = field(default_factory=time.process_time)
    _drawn: set[str] = field(default_factory=set)
    _asked: dict[str, Sides | None] = field(default_factory=dict)
    _scripts: dict[str, tuple[str | None, Trial | None]] = field(default_factory=dict)

    def evidence(self, explanations: list[Explanation]) -> list[Evidence]:
        """One record for each place and cause."""
        outer = frozenset(user_frames(root=self.probe.root, limit=1000))  # who called us is not at fault
        records: dict[object, Evidence] = {}
        for e in explanations:
            inner = tuple(frame for frame in e.frames if frame not in outer)
            placed = replace(e, frames=inner)
            key = e.cause, line_of(placed)
            if key not in records and (inner or not e.frames):
                records[key] = self._record(placed)
        return list(records.values())

    def _record(self, e: Explanation) -> Evidence:
        script, shown = self._script(e)
        gap = shown.difference if shown is not None else None
        reduced = shown is not None and e.trial is not None and shown is not e.trial
        outcome = Outcome.NONDETERMINISTIC if e.cause is Cause.RANDOM else self.outcome
        detail = _brief(self._detail(e, shown.run) if reduced and shown is not None else e.detail)
        label = e.trial.run.label if e.trial is not None else e.label
        what = self.probe.name, self.confirmation.export.exporter, e.cause, outcome, e.frames, detail, label
        errors = (gap.max_abs, gap.max_rel) if gap is not None else (None, None)
        runtime, sides = self._runtime(e), self._sides(e, shown, script)
        inputs = counterexample_view.values(shown.run.leaves) if shown is not None else {}
        return Evidence(*what, *errors, script, runtime, sides, reduced, inputs, self._graphs(e), e.proof)

    def _graphs(self, e: Explanation) -> GraphDiff | None:
        """The graphs of the example and of the input as it was found, once for each exporter and input."""
        if e.trial is None or e.trial.run.label in self._drawn:
            return None
        late = bool(self._drawn) and self.eager.costs.over(self.began)
        self._drawn.add(e.trial.run.label)
        if len(self._drawn) > _DRAWN or late:
            return None
        place = e.frames[0] if e.frames else None
        return counterexample_view.graphs(self.eager, self.confirmation.export, e.trial.run, place, self.probe.root)

    def _detail(self, e: Explanation, run: Run) -> str:
        """What went otherwise at the place, on an input that was made small; as it was where that is not seen again."""
        if e.cause not in (Cause.BRANCH, Cause.ESCAPE):
            return e.detail
        again = divergences(self.eager.base.observation, [run.observation])
        alike = [d.detail for d in again if d.frames[:1] == e.frames[:1] and d.detail.split()[0] == e.detail.split()[0]]
        return alike[0] if alike else e.detail

    def _sides(self, e: Explanation, shown: Trial | None, script: str | None) -> Sides | None:
        """Who agrees with whom on the input that is shown; for the first few inputs, since every side is asked."""
        if self.outcome not in _COMPARED or (shown is None and e.cause is not Cause.RUNTIME):
            return None
        label = shown.run.label if shown is not None else ""
        if label not in self._asked:
            if len(self._asked) >= _COMPARISONS or (self._asked and self.eager.costs.over(self.began)):
                return None
            branches = e.cause is Cause.BRANCH  # the first explanation of an export that parts on the example
            answer = sides(self.probe, self.eager, self.confirmation, shown, branches=branches)
            if answer is not None and answer.fault in UPSTREAM and script is not None:
                answer = self._with_issue(answer, shown, script)
            self._asked[label] = answer
        return self._asked[label]

    def _with_issue(self, answer: Sides, shown: Trial | None, script: str) -> Sides:
        """The same with a report to the makers of what is at fault, beside the script."""
        engine = shown.setup.engine if shown is not None and shown.setup is not None else None
        versions = {engine.name: engine.version} if engine is not None else {}
        try:
            path = write_issue(self.probe, self.eager.model, self._case(shown), answer, script, versions)
        except OSError as error:
            self.eager.costs.unkept.append(f"the report to ONNX's makers cannot be kept: {error.strerror}")
            return answer
        return replace(answer, issue=path)

    def _runtime(self, e: Explanation) -> str:
        """The runtime that it was seen in, where that is not ONNX Runtime on the CPU, of which everyone speaks."""
        setup = self.confirmation.refusing if e.cause is Cause.RUNTIME and e.trial is None else None
        setup = e.trial.setup if e.trial is not None else setup
        return setup.engine.title if setup is not None and setup.engine.name != ONNX_RUNTIME else ""

    def _script(self, e: Explanation) -> tuple[str | None, Trial | None]:
        """The script, and the trial that it shows; none for float32 alone: a script runs the file as exported."""
        if self.confirmation.in_float32:
            return None, e.trial
        label = e.trial.run.label if e.trial is not None else ""
        if label not in self._scripts:
            if len(self._scripts) >= _REPRODUCED:
                return next(iter(self._scripts.values()))[0], e.trial
            self._scripts[label] = self._write(e, (_REPRODUCED + 1 if self.eager.prelude else 1) + len(self._scripts))
        return self._scripts[label]

    def _write(self, e: Explanation, number: int) -> tuple[str | None, Trial | None]:
        """The counterexample, made small; the whole one beside it where that is another."""
        shown = e.trial
        whole = replace(self._case(e.trial), held=torchscript.by_method(e.held))
        small = whole
        if e.trial is not None and e.trial.run is not self.eager.base:
            shown = shrink(self.probe, self.eager, self.confirmation, e.trial, line_of(e) if e.frames else None)
            if shown is not e.trial:
                small = replace(self._case(shown), whole=whole, held=whole.held)
        return _saved(self.probe, self.eager, small, number), shown

    def _case(self, trial: Trial | None) -> Counterexample:
        export = self.confirmation.export
        run = self.eager.base if trial is None else trial.run
        random = self.outcome is Outcome.NONDETERMINISTIC
        label, where, limit, calls = "the example", "the example inputs", 1e-6 if random else 0.0, 1
        setup = self.confirmation.refusing or Setup(ORT, not random)
        if trial is not None:
            label, where, calls = run.label, f"{run.label}: {_brief(trial.message)}", trial.calls
            compared = trial.difference is not None and trial.result is not Result.REFUSED
            limit = 0.9 * trial.difference.allowed if trial.difference is not None and compared else 0.0
            setup = trial.setup or DEFAULT
        claim = f"{export.exporter}: {self.outcome.value} on {where}."
        answered = self._answered(run) if self.probe.live is not None else None
        what = export.exporter, label, claim, run.args, run.kwargs, export.inputs, limit, setup, calls
        return Counterexample(*what, answered=answered, preamble=self.eager.prelude)

    def _answered(self, run: Run) -> Answered | None:
        """What the exported file gets for an input, and eager's answer to it; None where there is no such file."""
        runtime = self.confirmation.runtime
        if runtime is None:
            return None
        try:
            feeds = self.confirmation.feeds(run)
        except RuntimeRefused:  # it wants an input that the arguments do not have, and refuses without it
            feeds = {}
        return Answered(runtime.path, feeds, expected(runtime.outputs, run))
