"""One probe from beginning to end: eager, both exporters, the runtimes, evidence. Runs in a process of its own."""

from __future__ import annotations

import logging
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import onnx
import onnxruntime
import torch

from onnxlint.base.records import (
    DECLARED,
    OPENVINO,
    SYNTHESISED,
    Assumed,
    Diagnostic,
    Evidence,
    ExporterResult,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Probe,
    ProbeResult,
    Way,
)
from onnxlint.probes.common import disk_space, stages
from onnxlint.probes.common.costs import Costs
from onnxlint.probes.confirm import dropout_off
from onnxlint.probes.confirm.engines import Engine, engines
from onnxlint.probes.confirm.half_precision import second_try
from onnxlint.probes.confirm.latency import latency
from onnxlint.probes.confirm.outcomes import eager_error, judge
from onnxlint.probes.confirm.trials import Confirmation, confirm
from onnxlint.probes.confirm.weights import copied, too_large
from onnxlint.probes.examples.examples import ProbeFailure, remedy_of, seed_everything
from onnxlint.probes.explain.attribution import attribute, eager_evidence, searched_evidence
from onnxlint.probes.explain.lost_inputs import tables, unread
from onnxlint.probes.explain.unrolled_loops import unrolled
from onnxlint.probes.exporters import Export, dynamo, first_line, torchscript
from onnxlint.probes.exporters.opsets import other_opset
from onnxlint.probes.guess.call_variants import find_ways
from onnxlint.probes.guess.synthesise import synthesise, unfed
from onnxlint.probes.observe.eager import Eager, explore, prepare
from onnxlint.probes.observe.eager_outputs import compare_outputs
from onnxlint.probes.search.branch_search import search
from onnxlint.probes.search.guard_sizes import try_other_sides

_NEARLY = 1.5  # times the time that is left: an export that takes longer than that is not begun
_UNEXPLAINED = (Outcome.OK, Outcome.SKIPPED, Outcome.CRASH)  # outcomes for which no line of the model is to blame
_WAYS_SHARE = 0.25  # of the time of the exports, for looking for further ways to call the model
_WAYS_LEAST = 2.0  # seconds
_EXPORT = {"torchscript": torchscript.export, "dynamo": dynamo.export}


def _ignore(_: ProbeResult) -> None:
    """Nobody wants the partial results."""


def run_probe(probe: Probe, publish: Callable[[ProbeResult], None] = _ignore) -> ProbeResult:
    """Probe one model. Whatever it does wrong is in the result; `publish` gets what is known after every stage."""
    logging.getLogger("torch.onnx").setLevel(logging.CRITICAL)
    torch.set_num_threads(1)
    if probe.compare is not None:
        return compare_outputs(probe, publish)
    sheet = _Sheet(probe, publish)
    try:
        stages.stage(stages.BUILD)
        probe = unfed(probe)
        if probe.source == SYNTHESISED:
            sheet.assumed = Assumed()
            probe, sheet.assumed = synthesise(probe)
        costs = Costs()
        with costs.paying(stages.BUILD):
            eager = prepare(probe)
        eager.costs = costs
        if eager.base.observation.error is not None:
            return sheet.not_probed(_rejected_example(eager, probe))
        stages.stage("running the variations in eager PyTorch")
        explore(probe, eager)
    except ProbeFailure as failure:
        return sheet.not_probed(failure)
    if sheet.assumed is None:  # inputs that we made up clear no line of what the source says against it
        sheet.reached = eager.reached
    sheet.notices += [Diagnostic("warning", f"{probe.name}: {lost}", probe.path, probe.line) for lost in eager.lost]
    if eager.fixed and sheet.assumed is not None:
        return sheet.not_probed(
            ProbeFailure(f"forward takes no variation of the inputs that were assumed: {eager_error(eager)}")
        )
    if eager.fixed:
        location = next(iter(eager.fixed[0].observation.error_frames), None)
        for exporter in probe.exporters:
            sheet.results[exporter] = ExporterResult(Outcome.EAGER_ERROR, eager_error(eager), location)
        sheet.evidence += eager_evidence(probe, eager)
        sheet.notices += _unkept(probe, costs)
        return sheet.publish()
    sheet.publish()
    sheet.runtimes = _runtimes(probe, sheet)
    with tempfile.TemporaryDirectory(prefix="onnxlint-") as folder:
        scratch = Path(folder)
        exports = []
        for name in probe.exporters if sheet.runtimes else ():
            with costs.paying(name):
                exports.append(_export(probe, eager, name, scratch))
        costs.exported = True
        for export in exports:
            try_other_sides(probe, eager, export)
        branches = search(probe, eager)
        if sheet.assumed is None:
            sheet.reached = eager.reached
        sheet.evidence += searched_evidence(probe, branches)
        for export in exports:
            _one_exporter(probe, eager, export, scratch, sheet)
        if any(result.outcome is Outcome.NONDETERMINISTIC for result in sheet.results.values()) or eager.random:
            _beneath_chance(probe, costs, exports, scratch, sheet)
    sheet.notices += [Diagnostic("warning", f"{probe.name}: {part}", probe.path, probe.line) for part in costs.cut]
    sheet.notices += _unkept(probe, costs)
    result = sheet.publish()
    sheet.ways = _ways(probe, eager, sheet)
    return sheet.publish() if sheet.ways else result


def _unkept(probe: Probe, costs: Costs) -> list[Diagnostic]:
    return [
        Diagnostic("error", f"{probe.name}: {told}", probe.path or None, probe.line or None) for told in costs.unkept
    ]


def _ways(probe: Probe, eager: Eager, sheet: _Sheet) -> tuple[Way, ...]:
    """Further ways to call the model, where these are asked for and an export came of the one that was tried."""
    ours = (sheet.assumed is not None or probe.optional) and not probe.way
    exported = any(r.outcome not in (Outcome.EXPORT_ERROR, *_UNEXPLAINED[1:]) for r in sheet.results.values())
    if not ours or not exported or eager.random or eager.stateful:
        return ()
    stages.stage(stages.WAYS)
    seconds = _WAYS_SHARE * sum(result.seconds for result in sheet.results.values())
    return find_ways(probe, eager.inference(), max(seconds, _WAYS_LEAST))


def _beneath_chance(probe: Probe, costs: Costs, before: Sequence[Export], scratch: Path, sheet: _Sheet) -> None:
    """What else is wrong with a model that drops at random: what it answers cannot be compared until that is still."""
    with dropout_off.held_still():
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
        search(probe, eager)
        known = {(e.exporter, e.cause, e.frames[:1]) for e in sheet.evidence}
        for first in before:
            if costs.parts[first.exporter] > _NEARLY * costs.left(math.inf):
                costs.tell(f"what else than dropout the {first.exporter} export gets wrong was not looked for")
                continue
            export = _export(probe, eager, first.exporter, scratch)
            found, outcome, _ = _judged(probe, eager, export, scratch, sheet.runtimes)
            if outcome in _UNEXPLAINED:
                continue
            for e in attribute(probe, eager, found, outcome):
                if (e.exporter, e.cause, e.frames[:1]) not in known:
                    sheet.evidence.append(replace(e, detail=f"{e.detail} (with dropout held still)"))
            sheet.publish()


def _one_exporter(probe: Probe, eager: Eager, export: Export, scratch: Path, sheet: _Sheet) -> None:
    exporter = export.exporter
    found, outcome, detail = _judged(probe, eager, export, scratch, sheet.runtimes)
    seconds = round(export.seconds, 3)
    speed = latency(eager, found, probe.root) if probe.latency else None
    tried = found.tried()
    sheet.results[exporter] = ExporterResult(outcome, detail, None, seconds, speed, tried)
    large = too_large(found, probe.name)
    sheet.notices += [Diagnostic("warning", large, probe.path or None, probe.line or None)] if large else []
    if outcome is Outcome.SKIPPED:
        sheet.unable[exporter] = detail
    elif outcome is Outcome.CRASH:
        sheet.notices.append(Diagnostic("error", f"{probe.name}: {detail}", probe.path or None, probe.line or None))
    sheet.publish()
    if outcome in _UNEXPLAINED:
        sheet.evidence += _needless(probe, eager, found, sheet) if outcome is Outcome.OK else []
        return
    stages.stage(f"looking for the cause in the {exporter} export")
    evidence = attribute(probe, eager, found, outcome)
    location = next((e.frames[0] for e in evidence if e.frames), None)
    sheet.results[exporter] = ExporterResult(outcome, detail, location, seconds, speed, tried)
    sheet.evidence += evidence
    sheet.publish()


def _needless(probe: Probe, eager: Eager, found: Confirmation, sheet: _Sheet) -> list[Evidence]:
    """What a right export has, or has not, that its user has to know. Inputs that we made up may well be needless."""
    lost = unread(probe, eager, found) if sheet.assumed is None else []
    return [*unrolled(probe, eager, found), *copied(probe, found), *tables(probe, eager, found), *lost]


def _export(probe: Probe, eager: Eager, exporter: str, scratch: Path) -> Export:
    stages.stage(f"exporting with {exporter}")
    seed_everything()
    folder = scratch / exporter
    folder.mkdir(exist_ok=True)
    return _EXPORT[exporter](eager.fresh(), eager.example, probe.opset, folder, probe.root)


def _judged(
    probe: Probe, eager: Eager, export: Export, scratch: Path, runtimes: Sequence[Engine]
) -> tuple[Confirmation, Outcome, str]:
    """An export, run on every input that eager accepts.

    SKIPPED where the exporter cannot write the opset, CRASH where the disk had no room for the file.
    """
    cannot = other_opset(export, probe.opset)
    if cannot:
        return Confirmation(export), Outcome.SKIPPED, cannot
    stages.stage(f"running the {export.exporter} export in {_names(runtimes)}")
    found = confirm(probe, eager, export, runtimes) if export.path else Confirmation(export)
    found = second_try(probe, eager, found, runtimes)
    failure = export.error if export.path is None else found.refusal
    full = disk_space.no_room(scratch, failure) if failure else None
    if full is not None:
        return found, Outcome.CRASH, full
    return found, *judge(eager, found)


def _runtimes(probe: Probe, sheet: _Sheet) -> list[Engine]:
    """The runtimes that are asked for and there; of the others, the reason is told once for the run."""
    found, faults = engines(probe.runtimes)
    sheet.notices += [Diagnostic("error", fault) for fault in faults]
    for exporter in probe.exporters if not found else ():
        sheet.results[exporter] = ExporterResult(Outcome.SKIPPED, faults[0])
    return found


def _names(runtimes: Sequence[Engine]) -> str:
    return " and ".join(engine.title for engine in runtimes)


def _rejected_example(eager: Eager, probe: Probe) -> ProbeFailure:
    seen = eager.base.observation
    assert seen.error is not None
    return ProbeFailure(
        f"forward raised on the example inputs: {first_line(seen.error)}",
        remedy_of(seen.error)
        or ("correct the inputs that are declared for this model" if probe.source == DECLARED else None),
        next(iter(seen.error_frames), None),
    )


class _Sheet:
    """The result as it grows."""

    def __init__(self, probe: Probe, publish: Callable[[ProbeResult], None]) -> None:
        self.probe = probe
        self.send = publish
        self.results: dict[str, ExporterResult] = {}
        self.notices: list[Diagnostic] = []
        self.evidence: list[Evidence] = []
        self.reached: dict[str, tuple[int, ...]] = {}
        self.assumed: Assumed | None = None
        self.ways: tuple[Way, ...] = ()
        self.runtimes: list[Engine] = []
        self.unable: dict[str, str] = {}  # exporters that cannot write the opset, and why

    def publish(self) -> ProbeResult:
        """Send and return what is known."""
        return self._send(ModelStatus.PROBED, None, None, None)

    def not_probed(self, failure: ProbeFailure) -> ProbeResult:
        """Send and return why there is no probe."""
        return self._send(ModelStatus.NOT_PROBED, failure.reason, failure.remedy, failure.location)

    def _send(
        self, status: ModelStatus, reason: str | None, remedy: str | None, location: Location | None
    ) -> ProbeResult:
        probe = self.probe
        if reason and location and (location.path, location.line) != (probe.path, probe.line):
            reason = f"{reason} ({location.path}:{location.line})"
        report = ModelReport(
            probe.name,
            probe.path,
            probe.line,
            status,
            reason,
            remedy,
            dict(self.results),
            declared=probe.asked_for,
            assumed=self.assumed,
            way=probe.way,
        )
        told = ["on assumed inputs"] if self.assumed is not None else []
        told += [f"called {probe.way}"] if probe.way else []
        evidence = self.evidence
        if told:
            evidence = [replace(e, detail=f"{e.detail} ({', '.join(told)})") for e in evidence]
        level = "error" if len(self.unable) == len(probe.exporters) else "warning"
        notices = (*self.notices, *(Diagnostic(level, told) for told in self.unable.values()))
        result = ProbeResult(report, tuple(evidence), self.reached, _versions(self.runtimes), notices, ways=self.ways)
        self.send(result)
        return result


def _versions(runtimes: Sequence[Engine]) -> dict[str, str]:
    return {
        **{engine.name: engine.version for engine in runtimes if engine.name == OPENVINO},
        "torch": torch.__version__,
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
        "numpy": numpy.__version__,
    }
