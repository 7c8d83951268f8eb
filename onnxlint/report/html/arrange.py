"""A report arranged as its page shows it: plain data for the templates, the surest findings first."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace as View

from onnxlint.base import records
from onnxlint.base.catalogue import Contract
from onnxlint.base.paths import package_path
from onnxlint.base.records import EXPORTERS, ModelStatus, Outcome, Safety, Severity, Sources, VerdictKind
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.hunks import Edited, edited, hunks, in_groups
from onnxlint.report.html.code import Excerpts
from onnxlint.report.html.plot import plot

Trials = Mapping[tuple[str, str], list[tuple[str, tuple[records.Tried, ...]]]]  # by model and exporter, for each call

_ORDER = tuple(VerdictKind)  # most certain first
_PROMISES = {
    Safety.SAFE: "safe: PyTorch computes the same",
    Safety.UNSAFE: "unsafe: look at it first, PyTorch may compute something else",
    Safety.MANUAL: "",
}


def overview(report: records.Report, *, show_all: bool, sources: Sources, catalogue: Mapping[str, Contract]) -> View:
    """Arrange a report: the surest findings first, then by place."""
    in_place = sorted(report.findings, key=lambda f: (f.span.path, f.span.line, f.span.column, f.code))
    ordered = sorted(in_place, key=lambda f: (_ORDER.index(f.verdict), words.hidden(f)))
    trials: Trials = defaultdict(list)
    for model in report.models:
        for exporter, result in model.exporters.items():
            trials[model.name, exporter].append((words.model_name(model), result.tried))
    findings: list[View] = []
    leads: dict[tuple[str, str], str] = {}  # for each model and exporter that went wrong, the first finding about it
    seen: Counter[str] = Counter()  # equal lines of one function have one fingerprint
    for finding in ordered:
        seen[finding.fingerprint] += 1
        again = f"-{seen[finding.fingerprint]}" if seen[finding.fingerprint] > 1 else ""
        anchor = f"f-{finding.fingerprint}{again}"
        shown = show_all or not words.hidden(finding)
        findings.append(_finding(finding, anchor, catalogue.get(finding.code), sources, shown, trials))
        for evidence in finding.evidence:
            if evidence.symptom is not Outcome.OK:
                leads.setdefault((evidence.model, evidence.exporter), anchor)
    probed = [model for model in report.models if model.status is ModelStatus.PROBED]
    visible = report.findings if show_all else tuple(f for f in report.findings if not words.hidden(f))
    headline, _, rest = run_summary.headline(replace(report, findings=visible), show_all=True).partition(" in ")
    named = [name for finding in findings for name in dict.fromkeys(e.key for e in finding.exporters)]
    return View(
        state=_state(report),
        nothing=run_summary.nothing(report),
        headline=headline,
        sentence=f"in {rest}",
        fixes=run_summary.fixes(report, show_all=show_all),
        versions=" · ".join(f"{name} {version}" for name, version in report.tool.items() if version),
        exporters=[name for name in EXPORTERS if any(name in model.exporters for model in probed)],
        models=probed,
        unprobed=[model for model in report.models if model.status is ModelStatus.NOT_PROBED],
        leads=leads,
        findings=findings,
        verdicts=_verdicts(ordered, show_all),
        found_in=[(name, named.count(name)) for name in (*EXPORTERS, "eager") if name in named],
        rules=sorted(Counter((finding.code, finding.rule) for finding in ordered).items()),
        notices=_notices(report),
        contracts=[catalogue[code] for code in sorted({f.code for f in ordered}) if code in catalogue],
        excerpts=Excerpts(sources),
    )


def _state(report: records.Report) -> str:
    kinds = {finding.verdict for finding in report.findings if not words.hidden(finding)}
    if words.unexplained(report) or words.failed(report) or VerdictKind.CONFIRMED in kinds:
        return "confirmed"
    if kinds:
        return "suspected"
    probed = all(model.status is ModelStatus.PROBED for model in report.models) and not report.interrupted
    return "fine" if report.models and probed else "open"  # only what was probed, to the end, is said to export well


def _notices(report: records.Report) -> list[tuple[str, str, str, str]]:
    """What a reader has to know of the run, errors first: error or warning, what it is called, place and message."""
    notices = [
        ("error" if d.level == "error" else "warning", d.level, place(d.path, d.line), d.message)
        for d in report.diagnostics
    ]
    for model, exporter, result in words.unexplained(report):
        at = place(result.location.path, result.location.line) if result.location is not None else ""
        notices.append(("error", "failed", at, words.failure_sentence(model, exporter, result)))
    cut = [("warning", "cut short", "", "the run was interrupted; this is what was known by then")]
    return [*(cut if report.interrupted else ()), *sorted(notices, key=lambda notice: notice[0])]


def _verdicts(findings: Sequence[records.Finding], show_all: bool) -> list[View]:
    """The verdicts that occur, and notes as a kind of their own; what `--show all` adds is off at first."""
    tally = Counter(_kind(finding) for finding in findings)
    names = {**{kind.value: words.VERDICT_WORDS[kind] for kind in VerdictKind}, "note": "notes"}
    late = ("note", VerdictKind.NOT_REPRODUCED.value)
    seen = ((key, name) for key, name in names.items() if tally[key])
    return [View(key=key, name=name, amount=tally[key], on=show_all or key not in late) for key, name in seen]


def _kind(finding: records.Finding) -> str:
    note = finding.severity is Severity.NOTE and finding.verdict is VerdictKind.SUSPECTED
    return "note" if note else finding.verdict.value


def _finding(
    finding: records.Finding, anchor: str, rule: Contract | None, sources: Sources, shown: bool, trials: Trials
) -> View:
    """One finding: the record itself, and what is shown of it; `searched` is what the filter by text looks at."""
    models = {evidence.model for evidence in finding.evidence}
    texts = (finding.code, finding.rule, finding.message, finding.span.path, finding.symbol, finding.text)
    return View(
        of=finding,
        anchor=anchor,
        kind=_kind(finding),
        models=models,
        exporters=[_exporter(finding, exporter, trials) for exporter in words.exporters_of(finding)],
        remedy=_fix(finding.fix, rule, sources),
        searched=" ".join([*texts, *sorted(models)]).lower(),
        shown=shown,
    )


def _exporter(finding: records.Finding, exporter: str, trials: Trials) -> View:
    """What became of a finding in one exporter: `state` is bad, good or open; a script is named once."""
    outcome, measured = words.outcome_of(finding, exporter)
    evidence = words.most_telling([e for e in finding.evidence if e.exporter == exporter])
    scripts = [one.repro for one in evidence]
    inputs: dict[str, list[str]] = defaultdict(list)
    for one in evidence:
        inputs[one.model].append(one.variation)
    effect = words.effect(finding, exporter)
    if not measured:
        effect = "is not affected" if outcome is Outcome.OK else f"expected: {effect}"
    calls = ((seen, *call) for model, seen in inputs.items() for call in trials.get((model, exporter), ()))
    plots = ((name, plot(tried, name, words.exporter_name(exporter), seen)) for seen, name, tried in calls)
    return View(
        key=exporter,
        state="open" if not measured or outcome is Outcome.SKIPPED else "good" if outcome is Outcome.OK else "bad",
        effect=effect,
        observations=[(one, one.repro not in scripts[:number] and one.repro) for number, one in enumerate(evidence)],
        sides=next((e.sides for e in evidence if e.sides), None),
        plots=[(name, drawn) for name, drawn in plots if drawn is not None],
    )


def _fix(fix: records.Fix | None, rule: Contract | None, sources: Sources) -> View | None:
    """What to write instead; `code` and `patch` are for the clipboard."""
    if fix is None:
        advice = rule.advice.strip().split("\n\n")[0].replace("\n", " ") if rule is not None else ""
        return View(title=advice, promise="", rows=[]) if rule is not None else None
    changed = edited(fix, sources)
    return View(
        title=fix.title,
        promise=_PROMISES[fix.safety] if changed else "",
        rows=[row for change in changed for row in _rows(change)],
        code="".join(f"{line}\n" for hunk in hunks(fix, sources) for line in hunk.lines),
        patch="".join(change.patch() for change in changed),
    )


def _rows(change: Edited) -> Iterator[tuple[str, int, str]]:
    """Sign, number and text of each line of a diff."""
    for group in in_groups(change.opcodes, 1):
        for opcode in group:
            edge = opcode in (group[0], group[-1])  # where an empty line shows nothing
            lines = ((sign, number, line.expandtabs(4)) for sign, number, line in change.rows(*opcode))
            yield from (row for row in lines if row[0] != " " or row[2].strip() or not edge)


def place(path: str | None, line: int | None) -> str:
    """Where something stands; a file of an installed package is named from the package on."""
    if not path:
        return ""
    return f"{package_path(path)}:{line}" if line else package_path(path)
