"""GitHub workflow commands: findings as annotations on the lines of a pull request."""

from collections import Counter
from collections.abc import Iterator

from onnxlint.base.records import ModelStatus, Report, Severity
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.checkout import GITHUB, in_checkout
from onnxlint.report.common.printed import printed

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_SHOWN = 10  # annotations of one kind that GitHub shows of a step, the first ones


def github(report: Report, whole: Report, *, show_all: bool) -> str:
    """One `::error file=…::message` per finding and diagnostic, the worst first, then the summary as plain text."""
    commands = list(_commands(report, whole))
    if max(Counter(name for name, _, _ in commands).values(), default=0) > _SHOWN:
        shown = f"GitHub shows {_SHOWN} errors and {_SHOWN} warnings of a step"
        commands.insert(0, ("notice", {"title": "onnxlint"}, f"{shown}; all {len(commands)} lines are in its log."))
    headline = printed(run_summary.headline(whole, show_all=show_all))
    return "".join(f"{line}\n" for line in (*(_line(*c) for c in commands), headline))


def _commands(report: Report, whole: Report) -> Iterator[tuple[str, dict[str, str], str]]:
    """Name, fields and message of each command: of what went wrong with the run, findings, models, warnings."""
    own = {"title": "onnxlint"}
    for diagnostic in report.diagnostics:
        if diagnostic.level == "error":
            yield "error", _at(diagnostic.path, diagnostic.line) | own, words.clean(diagnostic.message)
    for model, exporter, result in words.unexplained(whole):
        yield "error", _at(model.path, model.line) | own, words.failure_sentence(model, exporter, result)
    for finding in sorted(report.findings, key=words.badness):
        span = finding.span
        fields = _at(span.path, span.line) | {"endLine": str(max(span.line, span.end_line))}
        if span.end_line <= span.line and span.end_column > span.column:  # columns count on a single line only
            fields |= {"col": str(span.column), "endColumn": str(span.end_column - 1)}
        fields["title"] = f"{finding.code} {finding.rule} ({words.VERDICT_WORDS[finding.verdict]})"
        yield _COMMANDS[finding.severity], fields, words.sentence_of(finding)
    for model in report.models:
        if model.status is ModelStatus.NOT_PROBED:
            yield "notice", _at(model.path, model.line) | own, words.unprobed_sentence(model)
    for diagnostic in report.diagnostics:
        if diagnostic.level != "error":
            yield "warning", _at(diagnostic.path, diagnostic.line) | own, words.clean(diagnostic.message)


def _at(path: str | None, line: int | None) -> dict[str, str]:
    return {"file": in_checkout(path, GITHUB), "line": str(line or 1)} if path else {}


def _line(name: str, fields: dict[str, str], message: str) -> str:
    values = {key: _data(value).replace(":", "%3A").replace(",", "%2C") for key, value in fields.items()}
    return f"::{name} {','.join(f'{key}={value}' for key, value in values.items())}::{_data(message)}"


def _data(text: str) -> str:
    return words.visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
