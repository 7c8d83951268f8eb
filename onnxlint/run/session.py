"""One run over several scopes: their reports become one, held against the baseline and against what changed."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from onnxlint.base.catalogue import Contract, is_of_package, load_catalogue
from onnxlint.base.paths import display_path
from onnxlint.base.records import Diagnostic, Finding, ModelStatus, Report, Severity, Span, grouped
from onnxlint.config.settings import TYPED, Settings
from onnxlint.probes.live.snapshot_client import Captured
from onnxlint.report.progress import SILENT, Progress
from onnxlint.run import baseline
from onnxlint.run.changed_lines import Base
from onnxlint.run.dynamic_pass import UNKNOWN_MODEL, Also, missing_packages
from onnxlint.run.git import GitError
from onnxlint.run.pipeline import run_check
from onnxlint.run.scopes import Scope
from onnxlint.source.parse import SourceFile, read_source, statement_at, statement_spans
from onnxlint.source.suppress import UNUSED

_Identity = tuple[str, str, str]  # what a finding keeps where lines move and names change: its rule, its file, its text


@dataclass(frozen=True, slots=True)
class Ledger:
    """A baseline file, what stands in it, the findings that belong to it, and which entries this run can judge.

    `settled` is what the baseline makes of the findings.
    """

    file: Path
    allowed: Sequence[baseline.Entry]
    findings: tuple[Finding, ...]
    judged: baseline.Judged
    settled: baseline.Settled


@dataclass(frozen=True, slots=True)
class Session:
    """What a run found: the report that is to be shown, and the baselines that it was held against."""

    report: Report
    ledgers: tuple[Ledger, ...] = ()


def run(
    scopes: Sequence[Scope],
    *,
    progress: Progress = SILENT,
    base: Base | None = None,
    overlay: Mapping[Path, bytes] = MappingProxyType({}),
    fresh: bool = False,
    also: Also | None = None,
    shown: Callable[[Finding], bool] = lambda _: True,
    captured: Captured | None = None,
    recall: bool = False,
) -> Session:
    """Check every scope, and leave out what a baseline knows and what did not change.

    With `fresh`, a baseline that is missing is an empty one, since it is to be written. `also`, `shown`, `captured` and
    `recall`: see run_check.
    """
    parts: list[Report] = []
    ledgers: list[Ledger] = []
    checked: list[tuple[Scope, Report]] = []
    check = partial(run_check, (), progress=progress, overlay=overlay, also=also, shown=shown, captured=captured)
    for scope in scopes:
        report = check(scope.settings, discovery=scope.discovery, recall=recall)
        report = replace(report, diagnostics=(*scope.diagnostics, *report.diagnostics))
        checked.append((scope, report))
        if report.interrupted:
            break
    for file, runs in grouped(checked, lambda part: part[0].settings.baseline).items():
        report = _merged([report for _, report in runs])
        if file is not None:
            report, ledger = _against_baseline(file, report, [scope for scope, _ in runs], fresh)
            ledgers += [ledger] if ledger is not None else []
        parts.append(report)
    report = _merged(parts)
    if base is not None:
        report = _on_changed(report, base, {ledger.file for ledger in ledgers}, lambda: _made(checked, base, overlay))
    return Session(report, tuple(ledgers))


def _merged(reports: Sequence[Report]) -> Report:
    if len(reports) == 1:
        return reports[0]
    findings: dict[tuple[str, Span], Finding] = {}
    for report in reports:
        for finding in report.findings:
            other = findings.get((finding.code, finding.span))
            if other is None or len(finding.evidence) > len(other.evidence):
                findings[finding.code, finding.span] = finding
    said = dict.fromkeys(d for report in reports for d in report.diagnostics)
    # A model that one scope does not know may be that of another.
    strange = {d for d in said if d.message.endswith(UNKNOWN_MODEL) and not all(d in r.diagnostics for r in reports)}
    return Report(
        findings=tuple(findings.values()),
        models=tuple(model for report in reports for model in report.models),
        diagnostics=tuple(d for d in said if d not in strange),
        files=sum(report.files for report in reports),
        tool={name: version for report in reports for name, version in report.tool.items()},
        seconds=sum(report.seconds for report in reports),
        in_baseline=sum(report.in_baseline for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        interrupted=any(report.interrupted for report in reports),
        captured=any(report.captured for report in reports),
    )


def _against_baseline(file: Path, report: Report, scopes: Sequence[Scope], fresh: bool) -> tuple[Report, Ledger | None]:
    try:
        entries = [] if fresh and not file.exists() else baseline.read(file)
    except baseline.BaselineError as error:
        fault = Diagnostic("error", str(error), display_path(file), error.line)
        return replace(report, diagnostics=(*report.diagnostics, fault)), None
    judged = _judge(file.parent, report, scopes)
    settled = baseline.settle(entries, report.findings, file.parent, judged)
    unused = load_catalogue()[UNUSED]
    wanted = scopes[0].settings.selects(UNUSED, unused.name)
    slack = [_slack(file, entry, number, unused) for entry, number in settled.slack] if wanted else []
    ledger = Ledger(file, entries, report.findings, judged, settled)
    return replace(report, findings=(*settled.new, *slack), in_baseline=settled.matched), ledger


def _slack(file: Path, entry: baseline.Entry, number: int, rule: Contract) -> Finding:
    gone = "occurs no more" if number == entry.count else f"occurs {entry.count - number} times, not {entry.count}"
    place = f"{entry.code} in {entry.path}" + (f" at `{entry.text}`" if entry.text else "")
    message = f"the baseline allows {place}, which {gone}; `--prune-baseline` mends it"
    span = Span(display_path(file), entry.line, 1, entry.line, 1)
    return Finding(rule.code, rule.name, Severity.WARNING, message, span, text=entry.fingerprint)


def _judge(folder: Path, report: Report, scopes: Sequence[Scope]) -> baseline.Judged:
    """Make the test whether this run would have found what an entry allows: the file was read, and the rule ran."""
    settings_of = {os.path.abspath(file): scope.settings for scope in scopes for file in scope.discovery.files}
    unread = {os.path.abspath(d.path) for d in report.diagnostics if d.path}
    unprobed = any(model.declared and model.status is not ModelStatus.PROBED for model in report.models)

    def judged(entry: baseline.Entry) -> bool:
        path = os.path.abspath(folder / entry.path)
        gone = not os.path.lexists(path)
        settings = settings_of.get(path) or (scopes[0].settings if gone else None)
        if settings is None or path in unread:
            return False
        rule = load_catalogue().get(entry.code)
        if rule is None or gone:
            return gone or not is_of_package(entry.code)  # no run finds it again, unless with a package
        return _could_speak(rule, settings, unprobed) and not settings.file_ignores.ignores(path, rule.code, rule.name)

    return judged


def _could_speak(rule: Contract, settings: Settings, unprobed: bool) -> bool:
    if not settings.selects(rule.code, rule.name) or settings.origins.get("exporters") == TYPED:
        return False
    if not rule.code.startswith("ONX7"):
        return True
    return not (settings.static_only or settings.only_models or unprobed or missing_packages(settings))


def _on_changed(report: Report, base: Base, always: set[Path], made: Callable[[], Counter[_Identity]]) -> Report:
    """Keep the findings that a change touches or has `made`, and the slack of the baselines, which a change made."""
    spans: dict[str, list[tuple[int, int]]] = {}
    selected: list[Finding] = []
    others: list[Finding] = []
    shown = {display_path(file) for file in always}
    paths = {finding.span.path: None for finding in report.findings}
    changed = base.changed(paths, (step.path for finding in report.findings for step in finding.trace))
    for finding in report.findings:
        path = finding.span.path
        if path not in spans:
            source = read_source(Path(path)) if changed.ranges(path) and os.path.isfile(path) else None
            spans[path] = statement_spans(source.tree) if isinstance(source, SourceFile) else []
        touched = path in shown or changed.concerns(finding, *statement_at(spans[path], finding.span.line))
        (selected if touched else others).append(finding)
    diagnostics = [*report.diagnostics, *changed.diagnostics]
    if others:
        try:
            more = made()
        except GitError as error:
            fault = f"--changed-since: {error}; findings at lines that did not change are not compared"
            more = Counter(map(_identity, others))
            diagnostics.append(Diagnostic("error", fault))
        more.subtract(map(_identity, selected))
        for finding in others:
            if more[_identity(finding)] > 0:
                more[_identity(finding)] -= 1
                selected.append(finding)
    chosen = set(map(id, selected))
    findings = tuple(f for f in report.findings if id(f) in chosen)
    return replace(report, findings=findings, diagnostics=tuple(diagnostics))


def _made(checked: Iterable[tuple[Scope, Report]], base: Base, overlay: Mapping[Path, bytes]) -> Counter[_Identity]:
    """What the static pass finds that it did not find in the files as they were, by an import, say. Raises GitError."""
    made: Counter[_Identity] = Counter()
    before = base.before()
    for scope, report in checked if before else ():
        made.update(map(_identity, (report if scope.settings.static_only else _static(scope, overlay)).findings))
        made.subtract(map(_identity, _static(scope, {**overlay, **before}).findings))
    return +made


def _static(scope: Scope, overlay: Mapping[Path, bytes]) -> Report:
    settings = replace(scope.settings, static_only=True)
    return run_check((), settings, discovery=scope.discovery, overlay=overlay, shown=lambda _: False)


def _identity(finding: Finding) -> _Identity:
    return finding.code, finding.span.path, finding.text
