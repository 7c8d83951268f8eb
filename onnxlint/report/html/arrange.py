"""A report arranged as its page shows it: plain data for the templates, the surest findings first."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace as View

from onnxlint.base import records
from onnxlint.base.catalogue import Contract
from onnxlint.base.paths import package_path
from onnxlint.base.records import EXPORTERS, ModelStatus, Outcome, Safety, Severity, VerdictKind
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.hunks import Edited, edited, hunks
from onnxlint.report.html.code import Excerpts
from onnxlint.report.html.drawing import drawing
from onnxlint.report.html.plot import plot

Sources = Callable[[str], list[str]]
Trials = Mapping[tuple[str, str], list[tuple[str, tuple[records.Tried, ...]]]]  # by model and exporter, for each call

_MOST_EVIDENCE = 2  # observations of one exporter that are shown at once; the others unfold
_ORDER = (VerdictKind.CONFIRMED, VerdictKind.SUSPECTED, VerdictKind.NOT_REPRODUCED)
_PROMISES = {
    Safety.SAFE: "safe: PyTorch computes the same",
    Safety.UNSAFE: "unsafe: look at it first, PyTorch may compute something else",
    Safety.MANUAL: "",
}


def overview(report: records.Report, *, show_all: bool, sources: Sources, catalogue: Mapping[str, Contract]) -> View:
    """Arrange a report: the surest findings first, then by place."""
    excerpts = Excerpts(sources)
    ordered = sorted(
        report.findings,
        key=lambda f: (_ORDER.index(f.verdict), words.hidden(f), f.span.path, f.span.line, f.span.column, f.code),
    )
    anchors = _anchors(ordered)
    trials: Trials = defaultdict(list)
    for model in report.models:
        for exporter, result in model.exporters.items():
            trials[model.name, exporter].append((words.model_name(model), result.tried))
    findings = [
        _finding(finding, anchor, catalogue.get(finding.code), excerpts, sources, show_all, trials)
        for finding, anchor in zip(ordered, anchors, strict=True)
    ]
    probed = [model for model in report.models if model.status is ModelStatus.PROBED]
    exporters = [name for name in EXPORTERS if any(name in model.exporters for model in probed)]
    leads: dict[tuple[str, str], str] = {}  # for each model and exporter that went wrong, the first finding about it
    for finding, anchor in zip(ordered, anchors, strict=True):
        for evidence in finding.evidence:
            if evidence.symptom is not Outcome.OK:
                leads.setdefault((evidence.model, evidence.exporter), anchor)
    visible = report.findings if show_all else tuple(f for f in report.findings if not words.hidden(f))
    headline, _, rest = run_summary.headline(replace(report, findings=visible), show_all=True).partition(" in ")
    codes = Counter((finding.code, finding.rule) for finding in ordered)
    named = [name for finding in findings for name in dict.fromkeys(e.key for e in finding.exporters)]
    return View(
        state=_state(report),
        nothing=run_summary.nothing(report),
        headline=headline,
        sentence=f"in {rest}",
        fixes=run_summary.fixes(report, show_all=show_all),
        versions=" · ".join(f"{name} {version}" for name, version in report.tool.items() if version),
        exporters=[words.exporter_name(name) for name in exporters],
        models=[_model(model, exporters, leads) for model in probed],
        unprobed=[_unprobed(model) for model in report.models if model.status is ModelStatus.NOT_PROBED],
        findings=findings,
        verdicts=_verdicts(ordered, show_all),
        found_in=[
            View(key=name, name=words.exporter_name(name), amount=named.count(name))
            for name in (*EXPORTERS, "eager")
            if name in named
        ],
        rules=[View(key=code, name=f"{code} {rule}", amount=n) for (code, rule), n in sorted(codes.items())],
        notices=_notices(report),
        contracts=[catalogue[code] for code in sorted({f.code for f in ordered}) if code in catalogue],
    )


def _anchors(findings: Sequence[records.Finding]) -> list[str]:
    """A name in the page for each; equal lines of one function have one fingerprint."""
    seen: Counter[str] = Counter()
    anchors = []
    for finding in findings:
        seen[finding.fingerprint] += 1
        number = seen[finding.fingerprint]
        anchors.append(f"f-{finding.fingerprint}" + (f"-{number}" if number > 1 else ""))
    return anchors


def _state(report: records.Report) -> str:
    kinds = {finding.verdict for finding in report.findings if not words.hidden(finding)}
    if words.unexplained(report) or words.failed(report) or VerdictKind.CONFIRMED in kinds:
        return "confirmed"
    if kinds:
        return "suspected"
    return "fine" if run_summary.proven(report) else "open"


def _notices(report: records.Report) -> list[tuple[str, str, str, str]]:
    """What a reader has to know of the run, errors first: error or warning, what it is called, place and message."""
    notices = [
        ("error" if d.level == "error" else "warning", d.level, _place(d.path, d.line), d.message)
        for d in report.diagnostics
    ]
    for model, exporter, result in words.unexplained(report):
        place = _place(result.location.path, result.location.line) if result.location is not None else ""
        notices.append(("error", "failed", place, words.failure_sentence(model, exporter, result)))
    cut = [("warning", "cut short", "", "the run was interrupted; this is what was known by then")]
    return [*(cut if report.interrupted else ()), *sorted(notices, key=lambda notice: notice[0])]


def _verdicts(findings: Sequence[records.Finding], show_all: bool) -> list[View]:
    """The verdicts that occur, and notes as a kind of their own; what `--show all` adds is off at first."""
    tally = Counter(_kind(finding) for finding in findings)
    names = {**{kind.value: words.VERDICT_WORDS[kind] for kind in VerdictKind}, "note": "notes"}
    late = ("note", VerdictKind.NOT_REPRODUCED.value)
    return [
        View(key=key, name=name, amount=tally[key], on=show_all or key not in late)
        for key, name in names.items()
        if tally[key]
    ]


def _kind(finding: records.Finding) -> str:
    """By which of the first filters it is shown."""
    note = finding.severity is Severity.NOTE and finding.verdict is VerdictKind.SUSPECTED
    return "note" if note else finding.verdict.value


def _finding(
    finding: records.Finding,
    anchor: str,
    rule: Contract | None,
    excerpts: Excerpts,
    sources: Sources,
    show_all: bool,
    trials: Trials,
) -> View:
    """One finding: the record itself, and what is shown of it; `searched` is what the filter by text looks at."""
    span = finding.span
    models = {evidence.model for evidence in finding.evidence}
    searched = (finding.code, finding.rule, finding.message, span.path, finding.symbol, finding.text, *sorted(models))
    return View(
        of=finding,
        anchor=anchor,
        kind=_kind(finding),
        verdict=words.VERDICT_WORDS[finding.verdict],
        place=f"{package_path(span.path)}:{span.line}:{span.column}",
        excerpt=excerpts.around(span),
        steps=[
            View(place=_place(s.path, s.line), message=s.message, code=excerpts.at(s.path, s.line))
            for s in words.steps_before(finding)
        ],
        exporters=[_exporter(finding, exporter, excerpts, trials) for exporter in words.exporters_of(finding)],
        remedy=_fix(finding.fix, rule, sources),
        searched=" ".join(searched).lower(),
        shown=show_all or not words.hidden(finding),
    )


def _exporter(finding: records.Finding, exporter: str, excerpts: Excerpts, trials: Trials) -> View:
    """What became of a finding in one exporter: `state` is bad, good or open."""
    outcome, measured = words.outcome_of(finding, exporter)
    evidence = words.most_telling([e for e in finding.evidence if e.exporter == exporter])
    observations, commands = [], set()
    inputs: dict[str, list[str]] = defaultdict(list)
    for one in evidence:
        inputs[one.model].append(one.variation)
        seen = _observation(one, finding, excerpts)
        if seen.command in commands:
            seen.command = ""
        commands.add(seen.command)
        observations.append(seen)
    effect = words.effect(finding, exporter)
    if not measured:
        effect = "is not affected" if outcome is Outcome.OK else f"expected: {effect}"
    sides = next((e.sides for e in evidence if e.sides), None)
    return View(
        key=exporter,
        name=words.exporter_name(exporter),
        state="open" if not measured or outcome is Outcome.SKIPPED else "good" if outcome is Outcome.OK else "bad",
        effect=effect,
        observations=observations[:_MOST_EVIDENCE],
        more=observations[_MOST_EVIDENCE:],
        sides=sides and _sides(sides),
        plots=[
            (name, drawn)
            for model in inputs
            for name, tried in trials.get((model, exporter), ())
            if (drawn := plot(tried, name, words.exporter_name(exporter), inputs[model])) is not None
        ],
    )


def _sides(sides: records.Sides) -> View:
    """Who agrees with whom: the first group is PyTorch's."""
    return View(
        groups=[", ".join(words.folded(group)) for group in sides.groups],
        refusing=words.folded(list(sides.refused)),
        unknown=words.unknown_sides(sides),
        advice=sides.advice,
        issue=sides.issue,
    )


def _observation(evidence: records.Evidence, finding: records.Finding, excerpts: Excerpts) -> View:
    """One piece of evidence; `model` is empty where all of a finding is of one."""
    first = evidence.frames[0] if evidence.frames else None
    here = first is not None and first.path == finding.span.path and first.line == finding.span.line
    return View(
        place="" if first is None or here else f"{package_path(first.path)}:{first.line}",
        variation=words.variation(evidence),
        size=words.error_size(evidence),
        detail=words.observed(evidence) or words.OUTCOME_LABELS[evidence.symptom],
        model=evidence.model if len({e.model for e in finding.evidence}) > 1 else "",
        command=f"python {shlex.quote(evidence.repro)}" if evidence.repro else "",
        inputs=list(evidence.inputs.items()),
        graphs=drawing(evidence.graphs, evidence, excerpts) if evidence.graphs is not None else None,
    )


def _fix(fix: records.Fix | None, rule: Contract | None, sources: Sources) -> View | None:
    """What to write instead; `code` and `patch` are for the clipboard."""
    if fix is None:
        return (
            View(title=rule.advice.strip().split("\n\n")[0].replace("\n", " "), promise="", rows=[])
            if rule is not None
            else None
        )
    changed = edited(fix, sources)
    return View(
        title=fix.title,
        promise=_PROMISES[fix.safety] if changed else "",
        rows=[row for change in changed for row in _rows(change)],
        code="".join(f"{line}\n" for hunk in hunks(fix, sources) for line in hunk.lines),
        patch="".join(change.patch() for change in changed),
    )


def _rows(change: Edited) -> list[tuple[str, int, str]]:
    """Sign, number and text of each line of a diff."""
    rows: list[tuple[str, int, str]] = []
    for group in change.groups(1):
        for opcode in group:
            edge = opcode in (group[0], group[-1])  # where an empty line shows nothing
            lines = ((sign, number, line.expandtabs(4)) for sign, number, line in change.rows(*opcode))
            rows += [row for row in lines if row[0] != " " or row[2].strip() or not edge]
    return rows


def _model(model: records.ModelReport, exporters: Sequence[str], leads: Mapping[tuple[str, str], str]) -> View:
    """One row of the table."""
    return View(
        name=words.model_name(model),
        place=_place(model.path, model.line),
        cells=[_cell(model, name, leads) for name in exporters],
        assumed=list(words.assumed_inputs(model).items()),
        sizes=words.assumed_sizes(model),
        slower=[
            f"{words.exporter_name(name)} {slowness}"
            for name, result in model.exporters.items()
            if (slowness := words.slowness(result))
        ],
    )


def _cell(model: records.ModelReport, exporter: str, leads: Mapping[tuple[str, str], str]) -> View:
    """One model in one exporter; `anchor` leads to a finding about it."""
    result = model.exporters.get(exporter)
    if result is None or result.outcome is Outcome.SKIPPED:
        return View(state="open", label="skipped", note="", detail=result.detail if result else "", anchor="")
    parts = [
        words.short_place(result.location),
        words.seconds(result.seconds) if result.seconds else "",
        f"{result.latency.ratio:.2f}× eager’s time" if result.latency is not None else "",
    ]
    return View(
        state="good" if result.outcome is Outcome.OK else "bad",
        label=words.OUTCOME_LABELS[result.outcome],
        note=" · ".join(filter(None, parts)),
        detail=words.cut(words.plain(result.detail), words.LONGEST_DETAIL),
        anchor=leads.get((model.name, exporter)) or leads.get((model.name, "eager"), ""),
    )


def _unprobed(model: records.ModelReport) -> View:
    reason = words.cut(words.plain(model.reason or words.NO_REASON), words.LONGEST_DETAIL)
    return View(name=model.name, place=_place(model.path, model.line), reason=reason, remedy=model.remedy)


def _place(path: str | None, line: int | None) -> str:
    if not path:
        return ""
    return f"{package_path(path)}:{line}" if line else package_path(path)
