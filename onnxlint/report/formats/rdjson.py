"""reviewdog's diagnostic format, rdjson: findings with the lines that a fix replaces, as it posts them in reviews."""

from typing import Any

from onnxlint.base.records import Finding, ModelStatus, Report, Severity, Sources, Span
from onnxlint.report.common import words
from onnxlint.report.common.checkout import as_text
from onnxlint.report.common.hunks import hunks

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def rdjson(report: Report, whole: Report, sources: Sources | None) -> dict[str, Any]:
    """A `DiagnosticResult` as github.com/reviewdog/reviewdog describes it in proto/rdf."""
    diagnostics = [_finding(finding, sources) for finding in report.findings]
    unprobed = (model for model in report.models if model.status is ModelStatus.NOT_PROBED and model.path)
    diagnostics += [_message("INFO", words.unprobed_sentence(m), m.path, m.line) for m in unprobed]
    diagnostics += [_message("ERROR", sentence, place.path, place.line) for place, sentence in words.failures(whole)]
    for d in report.diagnostics:
        severity = "ERROR" if d.level == "error" else "WARNING"
        diagnostics.append(_message(severity, words.clean(d.message), d.path or "", d.line or 1))
    return {"source": {"name": "onnxlint"}, "diagnostics": diagnostics}


def _finding(finding: Finding, sources: Sources | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "message": words.sentence_of(finding),
        "location": {"path": as_text(finding.span.path), "range": _range(finding.span, sources)},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    if finding.trace:
        steps = ((words.clean(s.message), as_text(s.path), {"start": {"line": s.line}}) for s in finding.trace)
        result["related_locations"] = [{"message": m, "location": {"path": p, "range": r}} for m, p, r in steps]
    if sources is not None and finding.fix is not None and finding.fix.edits:
        result["suggestions"] = [
            {"range": {"start": {"line": hunk.first}, "end": {"line": hunk.last}}, "text": "\n".join(hunk.lines)}
            for hunk in hunks(finding.fix, sources)
            if hunk.path == finding.span.path  # a suggestion has no path of its own
        ]
    return result


def _range(span: Span, sources: Sources | None) -> dict[str, Any]:
    """Columns are bytes of UTF-8 there; without the source, which tells them, the range is whole lines."""
    lines = sources(span.path) if sources is not None else []
    if not 1 <= span.line <= span.end_line <= len(lines):
        return {"start": {"line": max(1, span.line)}}
    return {
        "start": {"line": span.line, "column": _byte_column(lines[span.line - 1], span.column)},
        "end": {"line": span.end_line, "column": _byte_column(lines[span.end_line - 1], span.end_column)},
    }


def _byte_column(line: str, column: int) -> int:
    return len(line[: max(column, 1) - 1].encode("utf-8", "surrogatepass")) + 1


def _message(severity: str, message: str, path: str, line: int) -> dict[str, Any]:
    place = {"path": as_text(path), "range": {"start": {"line": max(1, line)}}} if path else {}
    return {"message": message, "location": place, "severity": severity}
