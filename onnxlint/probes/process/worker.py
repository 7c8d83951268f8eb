"""One probe from beginning to end: eager, both exporters, the runtimes, evidence. Runs in a process of its own."""

import errno
import logging
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy
import onnx
import onnxruntime
import torch

from onnxlint.base import probe_records, records
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Assumed, Diagnostic, Evidence, ExporterResult, ModelStatus, Outcome
from onnxlint.probes.common import stages
from onnxlint.probes.common.costs import Costs
from onnxlint.probes.confirm import dropout_off, half_precision, latency, outcomes, trials, weights
from onnxlint.probes.confirm.engines import Engine, engines
from onnxlint.probes.examples.examples import ProbeFailure, remedy_of, seed_everything
from onnxlint.probes.explain import attribution, frozen_inputs
from onnxlint.probes.exporters import Export, dynamo, first_line, torchscript
from onnxlint.probes.guess import call_variants, synthesise
from onnxlint.probes.observe.eager import Eager, explore, prepare
from onnxlint.probes.observe.eager_outputs import compare_outputs
from onnxlint.probes.search import branch_search, guard_sizes

_NEARLY = 1.5  # times the time that is left: an export that takes longer than that is not begun
_UNEXPLAINED = (Outcome.OK, Outcome.SKIPPED, Outcome.CRASH)  # outcomes for which no line of the model is to blame
_NO_FILE = (Outcome.EXPORT_ERROR, Outcome.SKIPPED, Outcome.CRASH)
_WAYS_SHARE = 0.25  # of the time of the exports, for looking for further ways to call the model
_WAYS_LEAST = 2.0  # seconds
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # neither the model nor the exporter is to blame
_ROOM = 1 << 20  # bytes that have to fit where a file failed that was not written by Python
_EXPORT = {"torchscript": torchscript.export, "dynamo": dynamo.export}


@dataclass(slots=True)
class _Sheet:
    """The result as it grows. `unable` says of exporters that cannot write the opset why."""

    probe: Probe
    send: Callable[[ProbeResult], None]
    results: dict[str, ExporterResult] = field(default_factory=dict)
    notices: list[Diagnostic] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    reached: dict[str, tuple[int, ...]] = field(default_factory=dict)
    assumed: Assumed | None = None
    ways: tuple[probe_records.Way, ...] = ()
    runtimes: list[Engine] = field(default_factory=list)
    scratch: Path = Path()
    unable: dict[str, str] = field(default_factory=dict)

    def notice(self, level: Literal["warning", "error"], text: str) -> None:
        self.notices.append(Diagnostic(level, text, self.probe.path or None, self.probe.line or None))

    def note_unkept(self, costs: Costs) -> None:
        for reason in costs.unkept:
            self.notice("error", f"{self.probe.name}: {reason}")

    def note_reached(self, eager: Eager) -> None:
        """Note the lines that ran; those that ran on inputs that we made up clear nothing that the source suggests."""
        if self.assumed is None:
            self.reached = eager.reached

    def publish(self) -> ProbeResult:
        return self._send(ModelStatus.PROBED)

    def not_probed(self, failure: ProbeFailure) -> ProbeResult:
        at, reason = failure.location, failure.reason
        if reason and at and (at.path, at.line) != (self.probe.path, self.probe.line):
            reason = f"{reason} ({at.path}:{at.line})"
        return self._send(ModelStatus.NOT_PROBED, reason, failure.remedy)

    def _send(self, status: ModelStatus, reason: str | None = None, remedy: str | None = None) -> ProbeResult:
        probe, results = self.probe, dict(self.results)
        at = probe.name, probe.path, probe.line
        report = records.ModelReport(*at, status, reason, remedy, results, probe.asked_for, self.assumed, probe.way)
        conditions = ["on assumed inputs"] if self.assumed is not None else []
        conditions += [f"called {probe.way}"] if probe.way else []
        evidence = self.evidence
        if conditions:
            evidence = [replace(e, detail=f"{e.detail} ({', '.join(conditions)})") for e in evidence]
        level = "error" if len(self.unable) == len(probe.exporters) else "warning"
        notices = (*self.notices, *(Diagnostic(level, reason) for reason in self.unable.values()))
        versions = {engine.name: engine.version for engine in self.runtimes if engine.name == records.OPENVINO}
        versions |= {module.__name__: module.__version__ for module in (torch, onnx, onnxruntime, numpy)}
        result = ProbeResult(report, tuple(evidence), self.reached, versions, notices, ways=self.ways)
        self.send(result)
        return result


def run_probe(probe: Probe, publish: Callable[[ProbeResult], None] = lambda _: None) -> ProbeResult:
    """Probe one model. Whatever it does wrong is in the result; `publish` gets what is known after every stage."""
    logging.getLogger("torch.onnx").setLevel(logging.CRITICAL)
    torch.set_num_threads(1)
    if probe.compare is not None:
        return compare_outputs(probe, publish)
    sheet = _Sheet(probe, publish)
    try:
        probe, eager = _observe(probe, sheet)
    except ProbeFailure as failure:
        return sheet.not_probed(failure)
    if eager.fixed:  # eager PyTorch itself rejects sizes that are declared dynamic: nothing is exported
        at = next(iter(eager.fixed[0].observation.error_frames), None)
        failed = ExporterResult(Outcome.EAGER_ERROR, outcomes.eager_error(eager), at)
        sheet.results |= dict.fromkeys(probe.exporters, failed)
        sheet.evidence += attribution.eager_evidence(probe, eager)
        sheet.note_unkept(eager.costs)
        return sheet.publish()
    sheet.publish()
    sheet.runtimes = _runtimes(probe, sheet)
    with tempfile.TemporaryDirectory(prefix="onnxlint-") as folder:
        sheet.scratch = Path(folder)
        exports = [_export(probe, eager, name, sheet.scratch) for name in (probe.exporters if sheet.runtimes else ())]
        eager.costs.exported = True
        for export in exports:
            guard_sizes.try_other_sides(probe, eager, export)
        branches = branch_search.search(probe, eager)
        sheet.note_reached(eager)
        sheet.evidence += attribution.searched_evidence(probe, branches)
        for export in exports:
            _confirm_and_explain(probe, eager, export, sheet)
        if eager.random or any(result.outcome is Outcome.NONDETERMINISTIC for result in sheet.results.values()):
            _look_beneath_dropout(probe, eager.costs, exports, sheet)
    for part in eager.costs.cut:
        sheet.notice("warning", f"{probe.name}: {part}")
    sheet.note_unkept(eager.costs)
    result = sheet.publish()
    sheet.ways = _further_ways(probe, eager, sheet)
    return sheet.publish() if sheet.ways else result


def _observe(probe: Probe, sheet: _Sheet) -> tuple[Probe, Eager]:
    """The probe with its inputs, and what eager makes of these and of their variations. Raises ProbeFailure."""
    stages.stage(stages.BUILD)
    probe = synthesise.unfed(probe)
    if probe.source == probe_records.SYNTHESISED:
        sheet.assumed = Assumed()
        probe, sheet.assumed = synthesise.synthesise(probe)
    costs = Costs()
    with costs.paying(stages.BUILD):
        eager = prepare(probe)
    eager.costs = costs
    seen = eager.base.observation
    if seen.error is not None:
        declared = "correct the inputs that are declared for this model"
        remedy = remedy_of(seen.error) or (declared if probe.source == probe_records.DECLARED else None)
        reason = f"forward raised on the example inputs: {first_line(seen.error)}"
        raise ProbeFailure(reason, remedy, next(iter(seen.error_frames), None))
    stages.stage("running the variations in eager PyTorch")
    explore(probe, eager)
    sheet.note_reached(eager)
    for lost in eager.lost:
        sheet.notice("warning", f"{probe.name}: {lost}")
    if eager.fixed and sheet.assumed is not None:
        raise ProbeFailure(f"forward takes no variation of the inputs that were assumed: {outcomes.eager_error(eager)}")
    return probe, eager


def _runtimes(probe: Probe, sheet: _Sheet) -> list[Engine]:
    """The runtimes that are asked for and available; of the others, the reason is reported once for the run."""
    available, faults = engines(probe.runtimes)
    sheet.notices += [Diagnostic("error", fault) for fault in faults]
    for exporter in probe.exporters if not available else ():
        sheet.results[exporter] = ExporterResult(Outcome.SKIPPED, faults[0])
    return available


def _export(probe: Probe, eager: Eager, exporter: str, scratch: Path) -> Export:
    stages.stage(f"exporting with {exporter}")
    folder = scratch / exporter
    with eager.costs.paying(exporter) if not eager.costs.exported else nullcontext():
        seed_everything()
        folder.mkdir(exist_ok=True)
        return _EXPORT[exporter](eager.fresh(), eager.example, probe.opset, folder, probe.root)


def _confirm_and_explain(probe: Probe, eager: Eager, export: Export, sheet: _Sheet) -> None:
    exporter = export.exporter
    confirmation, outcome, detail = _judged(probe, eager, export, sheet)
    speed = latency.latency(eager, confirmation, probe.root) if probe.latency else None
    tried = tuple(trial.record() for trial in confirmation.trials)
    result = ExporterResult(outcome, detail, None, round(export.seconds, 3), speed, tried)
    sheet.results[exporter] = result
    large = weights.too_large(confirmation, probe.name)
    if large:
        sheet.notice("warning", large)
    if outcome is Outcome.SKIPPED:
        sheet.unable[exporter] = detail
    elif outcome is Outcome.CRASH:
        sheet.notice("error", f"{probe.name}: {detail}")
    sheet.publish()
    if outcome is Outcome.OK:  # what the user has to know although the outputs are right
        sheet.evidence += [*frozen_inputs.unrolled(probe, eager, confirmation), *weights.copied(probe, confirmation)]
        sheet.evidence += frozen_inputs.tables(probe, eager, confirmation)
        if sheet.assumed is None:  # inputs that we made up may well be needless
            sheet.evidence += frozen_inputs.unread(probe, eager, confirmation)
    if outcome in _UNEXPLAINED:
        return
    stages.stage(f"looking for the cause in the {exporter} export")
    evidence = attribution.attribute(probe, eager, confirmation, outcome)
    sheet.results[exporter] = replace(result, location=next((e.frames[0] for e in evidence if e.frames), None))
    sheet.evidence += evidence
    sheet.publish()


def _judged(probe: Probe, eager: Eager, export: Export, sheet: _Sheet) -> tuple[trials.Confirmation, Outcome, str]:
    """An export on every input that eager accepts; SKIPPED if it cannot write the opset, CRASH without disk space."""
    cannot = outcomes.other_opset(export, probe.opset)
    if cannot:
        return trials.Confirmation(export), Outcome.SKIPPED, cannot
    stages.stage(f"running the {export.exporter} export in {' and '.join(engine.title for engine in sheet.runtimes)}")
    confirmation = trials.confirm(probe, eager, export, sheet.runtimes) if export.path else trials.Confirmation(export)
    confirmation = half_precision.second_try(probe, eager, confirmation, sheet.runtimes)
    failure = export.error if export.path is None else confirmation.refusal
    # The disk is full where the failure says so, or where a test file does not fit either.
    if failure and (any(os.strerror(number) in failure for number in _NO_ROOM) or not _fits(sheet.scratch)):
        place = sheet.scratch.parent
        return confirmation, Outcome.CRASH, f"there is no room on the disk for the exported file, in {place}"
    return confirmation, *outcomes.judge(eager, confirmation)


def _fits(folder: Path) -> bool:
    try:
        with (folder / "room").open("wb") as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        return error.errno not in _NO_ROOM
    finally:
        (folder / "room").unlink(missing_ok=True)
    return True


def _look_beneath_dropout(probe: Probe, costs: Costs, before: Sequence[Export], sheet: _Sheet) -> None:
    """What else is wrong with a model with active dropout: its outputs can be compared only with dropout off."""
    with dropout_off.without_dropout():
        stages.stage("running the example in eager PyTorch, dropout held still")
        try:
            eager = prepare(probe)
        except ProbeFailure:  # it was built before: a factory that works once has no second model to look at
            return
        if eager.base.observation.error is not None or eager.base.observation.draws:
            return
        eager.prelude, eager.costs = dropout_off.SOURCE, costs
        explore(probe, eager)
        if eager.random or eager.fixed:
            return
        branch_search.search(probe, eager)
        reported = {(e.exporter, e.cause, e.frames[:1]) for e in sheet.evidence}
        for first in before:
            if costs.parts[first.exporter] > _NEARLY * costs.left(math.inf):
                costs.tell(f"what else than dropout the {first.exporter} export gets wrong was not looked for")
                continue
            export = _export(probe, eager, first.exporter, sheet.scratch)
            confirmation, outcome, _ = _judged(probe, eager, export, sheet)
            if outcome in _UNEXPLAINED:
                continue
            for e in attribution.attribute(probe, eager, confirmation, outcome):
                if (e.exporter, e.cause, e.frames[:1]) not in reported:
                    sheet.evidence.append(replace(e, detail=f"{e.detail} (with dropout held still)"))
            sheet.publish()


def _further_ways(probe: Probe, eager: Eager, sheet: _Sheet) -> tuple[probe_records.Way, ...]:
    """Further ways to call the model, where these are asked for and an export came of the one that was tried."""
    wanted = (sheet.assumed is not None or probe.optional) and not probe.way
    exported = any(result.outcome not in _NO_FILE for result in sheet.results.values())
    if not wanted or not exported or eager.random or eager.stateful:
        return ()
    stages.stage(stages.WAYS)
    seconds = _WAYS_SHARE * sum(result.seconds for result in sheet.results.values())
    return call_variants.find_ways(probe, eager.inference(), max(seconds, _WAYS_LEAST))
