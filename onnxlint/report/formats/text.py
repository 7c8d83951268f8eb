"""The full text report: each finding with frame, trace, effects, evidence and remedy; the models; a summary line."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath

from rich.style import Style
from rich.text import Text

from onnxlint.base import records
from onnxlint.base.catalogue import Contract
from onnxlint.base.paths import package_path
from onnxlint.base.records import Finding, ModelStatus, Outcome, Report, Severity, Sources, VerdictKind
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.console import Page
from onnxlint.report.common.frames import GUTTER, code_frame, source_text
from onnxlint.report.common.hunks import edited
from onnxlint.report.common.model_table import assumptions, model_list, model_table, slower, unprobed

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_VERDICT_COLOURS = dict(zip(VerdictKind, ("red", "yellow", "green"), strict=True))
_CERTAINTY = tuple(VerdictKind)  # most certain first
_LABEL = 12  # the width of the column that names what a paragraph is about
_LONGEST_DIFF = 12  # lines of a diff that are shown
_MOST_EVIDENCE = 2  # observations of one exporter that are shown for one finding


def text(
    report: Report,
    whole: Report,
    *,
    color: bool,
    width: int,
    show_all: bool,
    sources: Sources | None,
    catalogue: Mapping[str, Contract],
    quiet: bool = False,
    links: bool = False,
) -> str:
    """Render `report` at a width of 60 to 200 cells, and a summary of `whole`, hidden findings included. The files with
    the most certain and the worst findings come first, of these the ones that are nearest to an export."""
    width = max(60, min(width, 200))
    console = Page(color=color, width=width)
    page = _Page(console, width, sources or (lambda path: []), links)
    files = [list(findings) for _, findings in groupby(report.findings, key=lambda finding: finding.span.path)]
    for findings in sorted(files, key=lambda findings: min(map(_urgency, findings))):
        for finding in findings:
            page.finding(finding, catalogue.get(finding.code))
    if not quiet and any(model.status is ModelStatus.PROBED for model in report.models):
        wide = console.options.update(max_width=1000)
        columns = ((True, True), (False, True), (True, False), (False, False))  # what a narrow terminal goes without
        tables = (model_table(report.models, seconds=seconds, latency=latency) for seconds, latency in columns)
        table = next((t for t in tables if console.measure(t, options=wide).maximum <= width), None)
        if table is not None:
            console.print(table)
        else:
            console.lines(model_list(report.models))
        console.lines(slower(report.models))
        console.print()
        console.lines(assumptions(report.models))
        page.failures(whole)
    console.lines(unprobed([model for model in report.models if model.declared or not quiet]))
    for diagnostic in report.diagnostics:
        console.lines(_diagnostic(diagnostic))
    if report.diagnostics:
        console.print()
    if not quiet:
        console.lines([_summary(whole, show_all=show_all)])
        more = (run_summary.reproductions(whole, show_all=show_all), run_summary.fixes(whole, show_all=show_all))
        console.lines([Text(line) for line in more if line])
    return console.drawn


def _urgency(finding: Finding) -> tuple[bool, int, int, bool, int]:
    """The smaller, the sooner a file with this finding is to be read; a value's way from an input is its trace."""
    calls = sum(step.message.startswith("passed to ") for step in finding.trace)
    severity = tuple(Severity).index(finding.severity)
    return bool(finding.outside), _CERTAINTY.index(finding.verdict), severity, not finding.exported, calls


@dataclass(frozen=True, slots=True)
class _Page:
    console: Page
    width: int
    sources: Sources
    links: bool

    def failures(self, report: Report) -> None:
        """What went wrong in the table above and is in no finding: why, and where."""
        failures = words.unexplained(report)
        for model, exporter, result in failures:
            head = Text.styled("✗ ", "bold red").append(words.model_name(model), "bold")
            head.append(f" {words.exporter_name(exporter)}").append(f" {words.OUTCOME_LABELS[result.outcome]}", "red")
            self.console.lines([head])
            detail = words.cut(words.plain(result.detail), words.LONGEST_DETAIL)
            if result.location is not None:
                detail += f"  ({words.visible(result.location.path)}:{result.location.line})"
            for line in self._wrap(Text(detail.strip()), self.width - 2):
                self.console.lines([Text("  ").append_text(line)])
        if failures:
            self.console.print()

    def finding(self, finding: Finding, rule: Contract | None) -> None:
        """One finding and the empty line after it."""
        span = finding.span
        source = self.sources(span.path)
        colour = _COLOURS[finding.severity]
        self.console.lines(_header(finding, rule if self.links else None))
        self.console.lines(self._wrap(Text.styled(words.clean(finding.message), "bold"), self.width))
        gutter = len(str(max(span.end_line, span.line + 1)))
        place = Text.styled(" " * gutter + "--> ", GUTTER)
        place.append(f"{words.visible(span.path)}:{span.line}:{span.column}", style="none")
        if finding.symbol:
            place.append(f"  in {words.clean(_short(finding))}", style="dim")
        self.console.lines([place])
        if finding.outside:
            self.console.lines(self._wrap(Text.styled(f"a note: {words.clean(finding.outside)}", "dim"), self.width))
        label = words.clean(rule.title) if rule else ""
        self.console.lines(code_frame(source, span, label, width=self.width, gutter=gutter, style=colour))
        pad = gutter + 1
        self.console.lines(self._why(finding, pad))
        self.console.lines(self._effects(finding, pad))
        if finding.also:
            self.console.lines(self._paragraph("also at", Text.styled(words.also(finding), "cyan"), pad))
        self.console.lines(self._help(finding, rule, pad))
        self.console.print()

    def _why(self, finding: Finding, pad: int) -> Iterator[Text]:
        label, before = "why", ""
        shown = {(finding.span.path, line) for line in range(finding.span.line - 1, finding.span.end_line + 2)}
        for step in words.steps_before(finding):
            where = f"line {step.line}" if step.path == before else f"{_shown(step.path)}:{step.line}"
            body = Text.styled(where, "cyan").append(": ").append(words.clean(step.message), style="none")
            yield from self._paragraph(label, body, pad)
            code = source_text(self.sources(step.path), step.line)
            if code and (step.path, step.line) not in shown:
                line = Text.styled(code, "dim")
                line.truncate(self.width - pad - _LABEL - 3, overflow="ellipsis")
                yield self._indent(line, pad)
            shown.add((step.path, step.line))
            label, before = "", step.path

    def _effects(self, finding: Finding, pad: int) -> Iterator[Text]:
        if finding.verdict is VerdictKind.NOT_REPRODUCED:
            agreed = "✓ the line ran under the variations, and every export agreed with PyTorch on all of them"
            yield from self._paragraph("evidence", Text.styled(agreed, "green"), pad)
            return
        for exporter in words.exporters_of(finding):
            outcome, measured = words.outcome_of(finding, exporter)
            if outcome is None or (not measured and set(finding.effects.values()) == {Outcome.OK}):
                continue  # what is wrong is no outcome of the export
            effect = _effect(outcome, words.effect(finding, exporter), measured=measured)
            yield from self._paragraph(words.exporter_name(exporter), effect, pad)
            evidence = words.most_telling([e for e in finding.evidence if e.exporter == exporter])
            for observation in evidence[:_MOST_EVIDENCE]:
                yield from self._observation(observation, finding, pad)
            yield from self._sides(next((e.sides for e in evidence[:_MOST_EVIDENCE] if e.sides), None), pad)
            for script in dict.fromkeys(e.repro for e in evidence[:_MOST_EVIDENCE] if e.repro):
                again = Text.styled("re-run: ", "dim").append(f"python {words.clean(script)}", style="cyan")
                yield self._indent(again, pad)
            if len(evidence) > _MOST_EVIDENCE:
                more = words.count(len(evidence) - _MOST_EVIDENCE, "more observation")
                yield self._indent(Text.styled(f"and {more}", "dim"), pad)

    def _observation(self, evidence: records.Evidence, finding: Finding, pad: int) -> Iterator[Text]:
        body = Text()
        shown = {(finding.span.path, line) for line in range(finding.span.line, finding.span.end_line + 1)}
        shown |= {(step.path, step.line) for step in finding.trace[-1:]}
        if evidence.frames and (evidence.frames[0].path, evidence.frames[0].line) not in shown:
            body.append(f"{_shown(evidence.frames[0].path)}:{evidence.frames[0].line}", style="cyan").append(": ")
        if evidence.variation:
            body.append("on ").append(words.variation(evidence), style="bold").append(": ")
        parts = filter(None, (words.error_size(evidence), words.observed(evidence)))
        body.append(" – ".join(parts) or words.OUTCOME_LABELS[evidence.symptom])
        body.append(f"  ({words.clean(evidence.model)})", style="dim")
        for line in self._wrap(body, self.width - pad - _LABEL - 2):
            yield self._indent(line, pad)

    def _sides(self, sides: records.Sides | None, pad: int) -> Iterator[Text]:
        if sides is None:
            return
        lines = [Text.styled("who agrees: ", "dim").append(words.sides(sides), "none")]
        lines += [Text.styled("not known: ", "dim").append(words.unknown_sides(sides), "none")] if sides.unknown else []
        lines.append(Text.styled("→ ", "bold").append(words.plain(sides.advice), "none"))
        for body in lines:
            for line in self._wrap(body, self.width - pad - _LABEL - 2):
                yield self._indent(line, pad)
        if sides.issue:
            yield self._indent(Text.styled("to report it: ", "dim").append(words.clean(sides.issue), "cyan"), pad)

    def _help(self, finding: Finding, rule: Contract | None, pad: int) -> Iterator[Text]:
        advice = rule.advice.strip().split("\n\n")[0] if rule else ""  # a full stop inside code ends no sentence
        title = finding.fix.title if finding.fix else re.split(r"(?<=[.!?])\s+(?=[A-Z`])", advice, maxsplit=1)[0]
        if title:
            yield from self._paragraph("help", Text(words.clean(title)), pad, style="bold green")
        if finding.fix is not None:
            for line in fix_diff(finding.fix, self.sources):
                yield self._indent(line, pad)

    def _paragraph(self, label: str, body: Text, pad: int, *, style: str = "bold") -> Iterator[Text]:
        """`label  body`, the body wrapped beneath itself."""
        for number, line in enumerate(self._wrap(body, self.width - pad - _LABEL - 1)):
            head = Text.styled(" " * pad).append((label if number == 0 else "").ljust(_LABEL) + " ", style)
            yield head.append_text(line)

    def _indent(self, line: Text, pad: int) -> Text:
        return Text(" " * (pad + _LABEL + 3)).append_text(line)

    def _wrap(self, body: Text, width: int) -> list[Text]:
        width = max(20, width)
        fits = body.cell_len <= width and not {"\n", "\t"} & set(body.plain)
        lines = [body] if fits else body.wrap(self.console, width, overflow="fold")
        for line in lines:
            line.rstrip()
        return list(lines)


def fix_diff(fix: records.Fix, sources: Sources) -> Iterator[Text]:
    """The lines that the edits remove and add, file by file; edits that do not fit the source give nothing."""
    changes = ((change, opcode) for change in edited(fix, sources) for opcode in change.opcodes)
    lines = [row for change, opcode in changes if opcode[0] != "equal" for row in change.rows(*opcode)]
    for sign, number, code in lines[:_LONGEST_DIFF]:
        line, style = f"{sign} {words.visible(code.expandtabs(4))}", "red" if sign == "-" else "green"
        yield Text.styled(f"{number:>4} ", "dim").append(line, style=style)
    if len(lines) > _LONGEST_DIFF:
        yield Text.styled(f"… {len(lines) - _LONGEST_DIFF} more lines", "dim")


def _header(finding: Finding, rule: Contract | None) -> list[Text]:
    """The first line; its code leads to the contract of the rule, if that is given."""
    head = Text.styled(f"{finding.severity}[{words.clean(finding.code)}]", _COLOURS[finding.severity])
    if rule is not None:
        first = len(finding.severity) + 1
        head.stylize(Style(link=rule.uri), first, first + len(finding.code))
    head.append(f" {words.clean(finding.rule)}", style="bold")
    head.append(" · ", style="dim")
    return [head.append(words.VERDICT_WORDS[finding.verdict], style=_VERDICT_COLOURS[finding.verdict])]


def _shown(path: str) -> str:
    return words.visible(package_path(path))


def _short(finding: Finding) -> str:
    """The symbol without its module, which the path tells."""
    module = PurePath(finding.span.path).stem
    module = PurePath(finding.span.path).parent.name if module == "__init__" else module
    _, _, tail = f".{finding.symbol}".partition(f".{module}.")
    return tail or finding.symbol


def _effect(outcome: Outcome, effect: str, *, measured: bool) -> Text:
    if outcome is Outcome.OK:
        return Text(f"✓ {effect}" if measured else "– is not affected", style="green" if measured else "dim")
    if measured and outcome is Outcome.SKIPPED:
        return Text.styled("? ", "yellow").append(effect, style="none")
    if measured:
        return Text.styled("✗ ", "bold red").append(effect, style="red")
    return Text.styled("? ", "yellow").append("expected: ", style="dim").append(effect, style="none")


def _diagnostic(diagnostic: records.Diagnostic) -> list[Text]:
    severity = Severity.ERROR if diagnostic.level == "error" else Severity.WARNING
    line = Text.styled(diagnostic.level, _COLOURS[severity])
    line.append(": ", style="bold")
    if diagnostic.path:
        place = words.visible(diagnostic.path) + (f":{diagnostic.line}" if diagnostic.line else "")
        line.append(f"{place}: ", style="cyan")
    return [line.append(words.clean(diagnostic.message), style="none")]


def _summary(report: Report, *, show_all: bool) -> Text:
    loud = any(not words.hidden(finding) for finding in report.findings)
    failed = words.unexplained(report) or words.failed(report)
    confirmed = any(finding.verdict is VerdictKind.CONFIRMED for finding in report.findings)
    style = "bold red" if confirmed or failed else "bold yellow" if loud else "bold green"
    return Text.styled(run_summary.headline(report, show_all=show_all), style)
