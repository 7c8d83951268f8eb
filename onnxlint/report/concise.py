"""One line per finding, in the form that editors' problem matchers read, then one summary line."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.records import ModelStatus, Report
from onnxlint.report import words


def concise(report: Report, whole: Report, *, show_all: bool, quiet: bool = False) -> str:
    """`path:line:column: CODE message [verdict]`; diagnostics and models that were not probed likewise."""
    return "".join(f"{line}\n" for line in _lines(report, whole, show_all=show_all, quiet=quiet))


def _lines(report: Report, whole: Report, *, show_all: bool, quiet: bool) -> Iterator[str]:
    for finding in report.findings:
        span = finding.span
        place = f"{words.clean(span.path)}:{span.line}:{span.column}"
        yield f"{place}: {finding.code} {words.clean(finding.message)} [{finding.verdict}]"
    for model in report.models:
        if model.status is ModelStatus.NOT_PROBED and (model.declared or not quiet):
            place = f"{words.clean(model.path)}:{model.line}:1: " if model.path else ""
            yield f"{place}note: {words.clean(model.name)} was not probed: {words.clean(model.reason or '')}"
    for model, exporter, result in words.unexplained(whole):
        place = f"{words.clean(model.path)}:{model.line}:1: " if model.path else ""
        yield f"{place}error: {words.failure_sentence(model, exporter, result)}"
    for diagnostic in report.diagnostics:
        place = f"{words.clean(diagnostic.path)}:{diagnostic.line or 1}:1: " if diagnostic.path else ""
        yield f"{place}{diagnostic.level}: {words.clean(diagnostic.message)}"
    if not quiet:
        told = words.summary(whole, show_all=show_all)
        yield told[:1].upper() + told[1:]
        yield from filter(None, (words.reproductions(whole, show_all=show_all), words.fixes(whole, show_all=show_all)))
