"""GitLab's code quality report: one issue for each finding, and how bad it is."""

from __future__ import annotations

from pathlib import Path

import report_samples as samples
from format_readers import REPORTS, as_gitlab, at

from onnxlint.base.records import Diagnostic, Report, Span


@REPORTS
def test_gitlab_gets_what_it_documents(name: str) -> None:
    issues = as_gitlab(samples.REPORTS[name])
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert all(not issue["location"]["path"].startswith(("/", "./")) for issue in issues)


def test_gitlab_tells_alike_findings_apart_and_keeps_what_it_called_them() -> None:
    one = at("m.py", Span("m.py", 3, 1, 3, 5))
    alone, both = as_gitlab(Report((one,))), as_gitlab(Report((one, at("m.py", Span("m.py", 9, 1, 9, 5)))))
    assert alone[0]["fingerprint"] == both[0]["fingerprint"] != both[1]["fingerprint"]


def test_gitlab_says_how_bad_it_is() -> None:
    severities = {issue["check_name"]: issue["severity"] for issue in as_gitlab(samples.REPORTS["whole"])}
    assert severities["ONX101"] == "critical"


def test_each_kind_of_finding_and_of_fault_has_its_severity() -> None:
    faults = (Diagnostic("error", "does not parse", "two words/größe.py", 3), Diagnostic("warning", "no torch"))
    report = Report((samples.CONFIRMED, samples.HEADER, samples.SUSPECTED, samples.NOTE), diagnostics=faults)
    told = {(issue["check_name"], issue["description"][:8]): issue for issue in as_gitlab(report)}
    assert [issue["severity"] for issue in told.values()] == ["critical", "major", "info", "minor", "major", "minor"]
    broken = told["onnxlint", "does not"]
    assert broken["location"] == {"path": "two words/größe.py", "lines": {"begin": 3}}
    assert told["onnxlint", "no torch"]["location"] == {"path": ".", "lines": {"begin": 1}}


def test_a_file_outside_of_the_repository_is_named_in_the_text(tmp_path: Path) -> None:
    """GitLab takes relative paths only."""
    path = f"{tmp_path}/m.py"
    (issue,) = as_gitlab(Report((at(path, Span(path, 3, 1, 3, 5)),)))
    assert issue["location"]["path"] == "."
    assert issue["description"].startswith(f"{path}: ")


def test_a_failure_that_no_finding_explains_stands_where_it_was_seen() -> None:
    crash, timeout = as_gitlab(samples.REPORTS["failures"])
    assert (crash["location"]["lines"]["begin"], timeout["location"]["lines"]["begin"]) == (4, 31)
    assert "no answer within 60 s" in timeout["description"]
    assert crash["fingerprint"] != timeout["fingerprint"]
