"""A report arranged as what its page shows: the surest findings first, each with all that is known of it."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from onnxlint.base.catalogue import Contract
from onnxlint.base.paths import package_path
from onnxlint.base.records import (
    EXPORTERS,
    Evidence,
    ExporterResult,
    Finding,
    Fix,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Report,
    Safety,
    Severity,
    Tried,
    VerdictKind,
)
from onnxlint.report.common import words
from onnxlint.report.common.hunks import Edited, edited, hunks
from onnxlint.report.html.code import Excerpts
from onnxlint.report.html.drawing import drawing
from onnxlint.report.html.plot import plot
from onnxlint.report.html.views import (
    Cell,
    Choice,
    ExporterView,
    FindingView,
    FixView,
    ModelView,
    Notice,
    ObservationView,
    Overview,
    SidesView,
    StepView,
    UnprobedView,
)

Sources = Callable[[str], list[str]]
Trials = Mapping[tuple[str, str], list[tuple[str, tuple[Tried, ...]]]]  # by model and exporter, for each way to call it

_MOST_EVIDENCE = 2  # observations of one exporter that are shown at once; the others unfold
_ORDER = (VerdictKind.CONFIRMED, VerdictKind.SUSPECTED, VerdictKind.NOT_REPRODUCED)


def overview(report: Report, *, show_all: bool, sources: Sources, catalogue: Mapping[str, Contract]) -> Overview:
    """Arrange a report: the surest findings first, then by place."""
    excerpts = Excerpts(sources)
    ordered = sorted(
        report.findings,
        key=lambda f: (_ORDER.index(f.verdict), words.hidden(f), f.span.path, f.span.line, f.span.column, f.code),
    )
    anchors = _anchors(ordered)
    tried = _tried(report)
    findings = tuple(
        _finding(finding, anchor, catalogue.get(finding.code), excerpts, sources, show_all, tried)
        for finding, anchor in zip(ordered, anchors, strict=True)
    )
    probed = [model for model in report.models if model.status is ModelStatus.PROBED]
    exporters = [name for name in EXPORTERS if any(name in model.exporters for model in probed)]
    leads = _leads(ordered, anchors)
    visible = report.findings if show_all else tuple(f for f in report.findings if not words.hidden(f))
    told, _, rest = words.summary(replace(report, findings=visible), show_all=True).partition(" in ")
    codes = Counter((finding.code, finding.rule) for finding in ordered)
    named = [name for finding in findings for name in dict.fromkeys(e.key for e in finding.exporters)]
    return Overview(
        _state(report),
        words.nothing(report),
        told[:1].upper() + told[1:],
        f"in {rest}",
        words.fixes(report, show_all=show_all),
        " · ".join(f"{name} {version}" for name, version in report.tool.items() if version),
        tuple(words.exporter_name(name) for name in exporters),
        tuple(_model(model, exporters, leads) for model in probed),
        tuple(_unprobed(model) for model in report.models if model.status is ModelStatus.NOT_PROBED),
        findings,
        _verdicts(ordered, show_all),
        tuple(
            Choice(name, words.exporter_name(name), named.count(name))
            for name in (*EXPORTERS, "eager")
            if name in named
        ),
        tuple(Choice(code, f"{code} {rule}", amount) for (code, rule), amount in sorted(codes.items())),
        _notices(report),
        tuple(catalogue[code] for code in sorted({f.code for f in ordered}) if code in catalogue),
    )


def _tried(report: Report) -> Trials:
    found: dict[tuple[str, str], list[tuple[str, tuple[Tried, ...]]]] = defaultdict(list)
    for model in report.models:
        for exporter, result in model.exporters.items():
            found[model.name, exporter].append((words.model_name(model), result.tried))
    return found


def _anchors(findings: Sequence[Finding]) -> list[str]:
    """A name in the page for each; equal lines of one function have one fingerprint."""
    seen: Counter[str] = Counter()
    anchors = []
    for finding in findings:
        seen[finding.fingerprint] += 1
        number = seen[finding.fingerprint]
        anchors.append(f"f-{finding.fingerprint}" + (f"-{number}" if number > 1 else ""))
    return anchors


def _leads(findings: Sequence[Finding], anchors: Sequence[str]) -> dict[tuple[str, str], str]:
    """For each model and exporter that went wrong, the first finding that tells of it."""
    leads: dict[tuple[str, str], str] = {}
    for finding, anchor in zip(findings, anchors, strict=True):
        for evidence in finding.evidence:
            if evidence.symptom is not Outcome.OK:
                leads.setdefault((evidence.model, evidence.exporter), anchor)
    return leads


def _state(report: Report) -> str:
    kinds = {finding.verdict for finding in report.findings if not words.hidden(finding)}
    failed = bool(words.unexplained(report)) or any(d.level == "error" for d in report.diagnostics)
    if failed or VerdictKind.CONFIRMED in kinds:
        return "confirmed"
    if kinds:
        return "suspected"
    return "fine" if words.proven(report) else "open"


def _notices(report: Report) -> tuple[Notice, ...]:
    """What a reader has to know of the run, the worst first."""
    cut = [Notice("warning", "cut short", "", "the run was interrupted; this is what was known by then")]
    told = [
        Notice("error" if d.level == "error" else "warning", d.level, _place(d.path, d.line), d.message)
        for d in report.diagnostics
    ]
    told += [_failure(*failure) for failure in words.unexplained(report)]
    return (*(cut if report.interrupted else ()), *sorted(told, key=lambda notice: notice.kind))


def _verdicts(findings: Sequence[Finding], show_all: bool) -> tuple[Choice, ...]:
    """The verdicts that occur, and notes as a kind of their own; what `--show all` adds is off at first."""
    tally = Counter(_kind(finding) for finding in findings)
    names = {**{kind.value: words.VERDICT_WORDS[kind] for kind in VerdictKind}, "note": "notes"}
    late = ("note", VerdictKind.NOT_REPRODUCED.value)
    return tuple(
        Choice(key, name, tally[key], on=show_all or key not in late) for key, name in names.items() if tally[key]
    )


def _kind(finding: Finding) -> str:
    """By which of the first filters it is shown."""
    note = finding.severity is Severity.NOTE and finding.verdict is VerdictKind.SUSPECTED
    return "note" if note else finding.verdict.value


def _finding(
    finding: Finding,
    anchor: str,
    rule: Contract | None,
    excerpts: Excerpts,
    sources: Sources,
    show_all: bool,
    tried: Trials,
) -> FindingView:
    span = finding.span
    steps = finding.trace
    if steps and steps[-1].path == span.path and span.line <= steps[-1].line <= span.end_line:
        steps = steps[:-1]  # it is the place of the finding itself
    models = {evidence.model for evidence in finding.evidence}
    searched = (finding.code, finding.rule, finding.message, span.path, finding.symbol, finding.text, *sorted(models))
    return FindingView(
        finding,
        anchor,
        _kind(finding),
        words.VERDICT_WORDS[finding.verdict],
        f"{package_path(span.path)}:{span.line}:{span.column}",
        excerpts.around(span),
        tuple(StepView(f"{package_path(s.path)}:{s.line}", s.message, excerpts.at(s.path, s.line)) for s in steps),
        tuple(_exporter(finding, exporter, excerpts, tried) for exporter in words.exporters_of(finding)),
        _fix(finding.fix, rule, sources),
        " ".join(searched).lower(),
        show_all or not words.hidden(finding),
    )


def _exporter(finding: Finding, exporter: str, excerpts: Excerpts, tried: Trials) -> ExporterView:
    outcome, measured = words.outcome_of(finding, exporter)
    evidence = words.most_telling([e for e in finding.evidence if e.exporter == exporter])
    shown, commands = [], set()
    inputs: dict[str, list[str]] = defaultdict(list)
    for one in evidence:
        inputs[one.model].append(one.variation)
        seen = _observation(one, finding, excerpts)
        shown.append(replace(seen, command="") if seen.command in commands else seen)
        commands.add(seen.command)
    sides = next((e.sides for e in evidence if e.sides), None)
    state = "good" if outcome is Outcome.OK else "bad"
    if not measured or outcome is Outcome.SKIPPED:
        state = "open"
    told = words.effect(finding, exporter)
    if not measured:
        told = "is not affected" if outcome is Outcome.OK else f"expected: {told}"
    return ExporterView(
        exporter,
        words.exporter_name(exporter),
        state,
        told,
        tuple(shown[:_MOST_EVIDENCE]),
        tuple(shown[_MOST_EVIDENCE:]),
        None
        if sides is None
        else SidesView(
            tuple(", ".join(words.folded(group)) for group in sides.groups),
            tuple(words.folded(list(sides.refused))),
            words.unknown_sides(sides) if sides.unknown else "",
            sides.advice,
            sides.issue or "",
        ),
        tuple(
            (name, drawn)
            for model in inputs
            for name, trials in tried.get((model, exporter), ())
            if (drawn := plot(trials, name, words.exporter_name(exporter), inputs[model])) is not None
        ),
    )


def _observation(evidence: Evidence, finding: Finding, excerpts: Excerpts) -> ObservationView:
    first = evidence.frames[0] if evidence.frames else None
    here = first is not None and first.path == finding.span.path and first.line == finding.span.line
    return ObservationView(
        "" if first is None or here else f"{package_path(first.path)}:{first.line}",
        words.variation(evidence),
        words.error_size(evidence),
        words.observed(evidence) or words.OUTCOME_LABELS[evidence.symptom],
        evidence.model if len({e.model for e in finding.evidence}) > 1 else "",
        f"python {shlex.quote(evidence.repro)}" if evidence.repro else "",
        tuple(evidence.inputs.items()),
        drawing(evidence.graphs, evidence, excerpts) if evidence.graphs is not None else None,
    )


def _fix(fix: Fix | None, rule: Contract | None, sources: Sources) -> FixView | None:
    if fix is None:
        return None if rule is None else FixView(rule.advice.strip().split("\n\n")[0].replace("\n", " "), "")
    changed = edited(fix, sources)
    promises = {
        Safety.SAFE: "safe: PyTorch computes the same",
        Safety.UNSAFE: "unsafe: look at it first, PyTorch may compute something else",
        Safety.MANUAL: "",
    }
    return FixView(
        fix.title,
        promises[fix.safety] if changed else "",
        tuple(row for change in changed for row in _rows(change)),
        "".join(f"{line}\n" for hunk in hunks(fix, sources) for line in hunk.lines),
        "".join(change.patch() for change in changed),
    )


def _rows(change: Edited) -> list[tuple[str, int, str]]:
    rows: list[tuple[str, int, str]] = []
    for group in change.groups(1):
        for place, (tag, i, j, k, m) in enumerate(group):
            if tag == "equal":
                edge = place in (0, len(group) - 1)  # where an empty line shows nothing
                kept = (n for n in range(i, j) if change.before[n].strip() or not edge)
                rows += [(" ", n + 1, change.before[n].expandtabs(4)) for n in kept]
                continue
            rows += [("-", n + 1, change.before[n].expandtabs(4)) for n in range(i, j)]
            rows += [("+", n + 1, change.after[n].expandtabs(4)) for n in range(k, m)]
    return rows


def _model(model: ModelReport, exporters: Sequence[str], leads: Mapping[tuple[str, str], str]) -> ModelView:
    assumed, sizes = [], ""
    if model.assumed is not None:
        assumed = [*model.assumed.inputs.items(), *((k, repr(v)) for k, v in model.assumed.values.items())]
        sizes = "; ".join(f"{dim} {', '.join(map(str, taken))}" for dim, taken in model.assumed.sizes.items())
    return ModelView(
        words.model_name(model),
        _place(model.path, model.line),
        tuple(_cell(model, name, leads) for name in exporters),
        tuple(assumed),
        sizes,
        tuple(
            _slower(name, result)
            for name, result in model.exporters.items()
            if result.latency and result.latency.slowest
        ),
    )


def _slower(exporter: str, result: ExporterResult) -> str:
    assert result.latency is not None
    parts = [
        f"{nodes.operator} {nodes.share:.0%}" + (f" ({_short(nodes.location)})" if nodes.location else "")
        for nodes in result.latency.slowest
    ]
    times = f"{result.latency.ratio:.2g} times as long as eager PyTorch"
    return f"{words.exporter_name(exporter)} takes {times}: {', '.join(parts)}"


def _cell(model: ModelReport, exporter: str, leads: Mapping[tuple[str, str], str]) -> Cell:
    result = model.exporters.get(exporter)
    if result is None or result.outcome is Outcome.SKIPPED:
        return Cell("open", "skipped", detail=result.detail if result else "")
    told = [
        _short(result.location) if result.location is not None else "",
        words.seconds(result.seconds) if result.seconds else "",
        f"{result.latency.ratio:.2f}× eager’s time" if result.latency is not None else "",
    ]
    return Cell(
        "good" if result.outcome is Outcome.OK else "bad",
        words.OUTCOME_LABELS[result.outcome],
        " · ".join(part for part in told if part),
        words.cut(words.plain(result.detail), words.LONGEST_DETAIL),
        leads.get((model.name, exporter)) or leads.get((model.name, "eager"), ""),
    )


def _unprobed(model: ModelReport) -> UnprobedView:
    reason = words.cut(words.plain(model.reason or "no reason was recorded"), words.LONGEST_DETAIL)
    return UnprobedView(model.name, _place(model.path, model.line), reason, model.remedy or "")


def _failure(model: ModelReport, exporter: str, result: ExporterResult) -> Notice:
    place = _place(result.location.path, result.location.line) if result.location is not None else ""
    return Notice("error", "failed", place, words.failure_sentence(model, exporter, result))


def _place(path: str | None, line: int | None) -> str:
    if not path:
        return ""
    return f"{package_path(path)}:{line}" if line else package_path(path)


def _short(location: Location) -> str:
    return f"{PurePath(location.path).name}:{location.line}" if location.path else ""
