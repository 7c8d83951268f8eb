"""GitLab's code quality report: the widget and the marks in the changes of a merge request."""

from collections import Counter
from pathlib import PurePath
from typing import Any

from onnxlint.base.records import Finding, Location, Report, Severity, VerdictKind, short_digest
from onnxlint.report.common import words
from onnxlint.report.common.checkout import GITLAB, as_text, in_checkout

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def gitlab(report: Report, whole: Report) -> list[dict[str, Any]]:
    """A list as docs.gitlab.com/ci/testing/code_quality describes it; a confirmed finding is critical."""
    issues = list(map(_finding, report.findings))
    for model, exporter, result in words.unexplained(whole):
        where = result.location or Location(model.path, model.line)
        sentence = words.failure_sentence(model, exporter, result)
        issues.append(_issue("onnxlint", sentence, "major", where.path, where.line, short_digest(model.name, exporter)))
    for diagnostic in report.diagnostics:
        message, path = words.clean(diagnostic.message), diagnostic.path or ""
        severity = "major" if diagnostic.level == "error" else "minor"
        issues.append(_issue("onnxlint", message, severity, path, diagnostic.line or 1, short_digest(path, message)))
    seen: Counter[str] = Counter()
    for issue in issues:  # GitLab shows one issue for each fingerprint
        seen[issue["fingerprint"]] += 1
        if (number := seen[issue["fingerprint"]]) > 1:
            issue["fingerprint"] = short_digest(issue["fingerprint"], str(number))
    return issues


def _finding(finding: Finding) -> dict[str, Any]:
    severity = "critical" if finding.verdict is VerdictKind.CONFIRMED else _SEVERITIES[finding.severity]
    span = finding.span
    issue = _issue(finding.code, words.sentence_of(finding), severity, span.path, span.line, finding.fingerprint)
    issue["location"]["lines"]["end"] = max(1, span.line, span.end_line)
    return issue


def _issue(check: str, description: str, severity: str, path: str, line: int, fingerprint: str) -> dict[str, Any]:
    """GitLab wants a place in the repository for everything: what has none, or one outside, stands at its root."""
    place = as_text(in_checkout(path, GITLAB))
    outside = PurePath(place).is_absolute()
    return {
        "description": f"{place}: {description}" if outside else description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": "." if outside or not place else place, "lines": {"begin": max(1, line)}},
    }
