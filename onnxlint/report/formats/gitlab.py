"""GitLab's code quality report: the widget and the marks in the changes of a merge request."""

import json
from collections.abc import Iterator
from typing import Any

from onnxlint.base.records import Finding, Location, Report, Severity, VerdictKind
from onnxlint.report.common import words
from onnxlint.report.common.checkout import GITLAB, as_text, in_checkout
from onnxlint.report.common.finding_ids import digest, distinct

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def gitlab(report: Report, whole: Report) -> str:
    """A list as docs.gitlab.com/ci/testing/code_quality describes it; a confirmed finding is critical."""
    issues = [*map(_finding, report.findings), *_failures(whole), *_diagnostics(report)]
    for issue, fingerprint in zip(issues, distinct([i["fingerprint"] for i in issues]), strict=True):
        issue["fingerprint"] = fingerprint  # GitLab shows one issue for each
    return json.dumps(issues, indent=2, ensure_ascii=True) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    confirmed = finding.verdict is VerdictKind.CONFIRMED
    severity = "critical" if confirmed else _SEVERITIES[finding.severity]
    span = finding.span
    issue = _issue(finding.code, words.sentence_of(finding), severity, span.path, span.line, finding.fingerprint)
    issue["location"]["lines"]["end"] = max(1, span.line, span.end_line)
    return issue


def _failures(whole: Report) -> Iterator[dict[str, Any]]:
    for model, exporter, result in words.unexplained(whole):
        where = result.location or Location(model.path, model.line)
        sentence = words.failure_sentence(model, exporter, result)
        yield _issue("onnxlint", sentence, "major", where.path, where.line, digest(model.name, exporter))


def _diagnostics(report: Report) -> Iterator[dict[str, Any]]:
    for diagnostic in report.diagnostics:
        message = words.clean(diagnostic.message)
        severity = "major" if diagnostic.level == "error" else "minor"
        path = diagnostic.path or ""
        yield _issue("onnxlint", message, severity, path, diagnostic.line or 1, digest(path, message))


def _issue(check: str, description: str, severity: str, path: str, line: int, fingerprint: str) -> dict[str, Any]:
    """GitLab wants a place for everything: what has none stands at the root of the repository."""
    return {
        "description": description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": as_text(in_checkout(path, GITLAB)) or ".", "lines": {"begin": max(1, line)}},
    }
