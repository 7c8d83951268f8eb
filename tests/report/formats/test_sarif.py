"""SARIF fits the published schema and what GitHub reads of it."""

from __future__ import annotations

import dataclasses
import json
import re
from urllib.parse import unquote

import report_samples as samples
from format_readers import REPORTS, as_sarif, machine

from onnxlint.base.records import Report, Severity, Span
from onnxlint.report.formats.sarif import sarif


@REPORTS
def test_sarif_fits_the_published_schema_and_what_github_reads(name: str) -> None:
    run = as_sarif(samples.REPORTS[name])
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]
        for location in result["locations"]:
            artifact = location["physicalLocation"]["artifactLocation"]
            assert artifact["uriBaseId"] in run["originalUriBaseIds"]
            assert not re.match(r"[a-z]+:|/", artifact["uri"])
    for rule in rules:
        assert rule["help"]["markdown"]
        assert rule["shortDescription"]["text"]


def test_sarif_carries_the_trace_the_fix_and_the_contract() -> None:
    run = as_sarif(samples.REPORTS["whole"])
    (result,) = (r for r in run["results"] if r["ruleId"] == "ONX101")
    ((flow,),) = ([f["threadFlows"][0]["locations"] for f in result["codeFlows"]],)
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert lines == [6, 3, 10, 10]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 10,
        "startColumn": 9,
        "endLine": 12,
        "endColumn": 21,
    }
    assert "max abs error 0.43" in result["message"]["text"]
    assert "torch.where" in run["tool"]["driver"]["rules"][result["ruleIndex"]]["help"]["markdown"]


def test_sarif_tells_of_the_run_itself() -> None:
    (invocation,) = as_sarif(samples.REPORTS["diagnostics"])["invocations"]
    assert invocation["executionSuccessful"] is False
    levels = [note["level"] for note in invocation["toolExecutionNotifications"]]
    assert levels == ["error", "warning", "warning", "note"]


def test_sarif_paths_are_uris() -> None:
    odd = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path="a b/ü%#?.py"))
    (result,) = as_sarif(Report(findings=(odd,)))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert unquote(uri) == "a b/ü%#?.py"


def test_sarif_gives_an_absolute_path_as_a_file_uri() -> None:
    far = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path="/opt/x.py"))
    (result,) = as_sarif(Report(findings=(far,)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///opt/x.py"}


def test_sarif_stays_within_the_number_of_results_that_github_takes() -> None:
    log = json.loads(machine(Report(findings=(samples.SUSPECTED,) * 25_003), "sarif"))
    (run,) = log["runs"]
    assert len(run["results"]) == 25_000
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "3 findings are left out of this file."


def test_sarif_names_where_else_the_cause_shows_and_marks_lines_whose_columns_are_unknown() -> None:
    spans = (Span("a b.py", 9, 3, 9, 8), Span("a b.py", 12, 1, 12, 1))
    (result,) = as_sarif(Report((dataclasses.replace(samples.SUSPECTED, also=spans),)))["results"]
    places = [place["physicalLocation"] for place in result["relatedLocations"]]
    assert [place["region"] for place in places] == [
        {"startLine": 9, "startColumn": 3, "endLine": 9, "endColumn": 8},
        {"startLine": 12},
    ]
    assert {place["artifactLocation"]["uri"] for place in places} == {"a%20b.py"}


def test_sarif_says_how_bad_a_rule_is() -> None:
    notes = {"ONX205": dataclasses.replace(samples.RULE, code="ONX205", severity=Severity.NOTE)}
    log = sarif(Report((samples.NOTE, samples.SUSPECTED)), Report(), notes)
    (rule,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert rule["properties"]["problem.severity"] == "recommendation"
    assert rule["name"] == "TensorBranch"
    known, unknown = log["runs"][0]["results"]
    assert (known["ruleIndex"], "ruleIndex" in unknown) == (0, False)
