"""GitHub workflow commands: findings as annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.records import ModelStatus, Report, Severity
from onnxlint.report import words

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github(report: Report, whole: Report, *, show_all: bool) -> str:
    """One `::error file=…::message` per finding and diagnostic, then the summary as plain text."""
    return "".join(f"{line}\n" for line in _lines(report, whole, show_all=show_all))


def _lines(report: Report, whole: Report, *, show_all: bool) -> Iterator[str]:
    for finding in report.findings:
        span = finding.span
        fields = {"file": span.path, "line": str(span.line), "endLine": str(max(span.line, span.end_line))}
        if span.end_line <= span.line and span.end_column > span.column:  # columns count on a single line only
            fields |= {"col": str(span.column), "endColumn": str(span.end_column - 1)}
        fields["title"] = f"{finding.code} {finding.rule} ({words.VERDICT_WORDS[finding.verdict]})"
        yield _command(_COMMANDS[finding.severity], fields, words.sentence_of(finding))
    for model in report.models:
        if model.status is ModelStatus.NOT_PROBED:
            fields = {"file": model.path, "line": str(model.line)} if model.path else {}
            told = f"{words.clean(model.name)} was not probed: {words.clean(model.reason or '')}"
            yield _command("notice", fields | {"title": "onnxlint"}, told)
    for model, exporter, result in words.unexplained(whole):
        fields = {"file": model.path, "line": str(model.line)} if model.path else {}
        told = words.failure_sentence(model, exporter, result)
        yield _command("error", fields | {"title": "onnxlint"}, told)
    for diagnostic in report.diagnostics:
        fields = {"file": diagnostic.path, "line": str(diagnostic.line or 1)} if diagnostic.path else {}
        level = "error" if diagnostic.level == "error" else "warning"
        yield _command(level, fields | {"title": "onnxlint"}, words.clean(diagnostic.message))
    told = words.summary(whole, show_all=show_all)
    yield told[:1].upper() + told[1:]


def _command(name: str, fields: dict[str, str], message: str) -> str:
    properties = ",".join(f"{key}={_property(words.visible(value))}" for key, value in fields.items())
    return f"::{name} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
