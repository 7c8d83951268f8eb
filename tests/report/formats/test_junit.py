"""JUnit's XML fits the schema of Jenkins: a case for each finding, model and exporter."""

from __future__ import annotations

import dataclasses

import report_samples as samples
from format_readers import REPORTS, as_junit

from onnxlint.base.records import Diagnostic, Report, Severity


@REPORTS
def test_junit_fits_the_schema_of_jenkins(name: str) -> None:
    report = samples.REPORTS[name]
    root = as_junit(report)
    cases = root.findall("testsuite/testcase")
    assert int(root.get("tests")) == len(cases) > 0
    assert int(root.get("failures")) == len(root.findall("testsuite/testcase/failure"))
    for finding in report.findings:
        failed = [c for c in cases if str(c.get("name")).startswith(f"{finding.code} ")]
        assert any(c.find("failure") is not None for c in failed) or finding.severity is Severity.NOTE


def test_junit_has_a_case_for_each_model_and_exporter() -> None:
    models = as_junit(samples.REPORTS["whole"]).find("testsuite[@name='models']")
    assert models is not None
    found = {(c.get("classname"), c.get("name")): [child.tag for child in c] for c in models}
    assert found["src.models.gate:Gate", "TorchScript"] == ["failure"]
    assert ["skipped"] in found.values()


def test_hostile_text_stays_text_in_xml() -> None:
    hostile = dataclasses.replace(samples.CONFIRMED, message="]]><x>&\x1b[31m\x00\ud800", symbol="<a b='\u2028'>")
    (case,) = as_junit(Report((hostile,))).findall("testsuite[1]/testcase")
    assert "<x>&" in str(case.find("failure").get("message"))


def test_a_note_passes_and_a_fault_of_the_run_is_an_error() -> None:
    faults = (Diagnostic("error", "does not parse", "größe.py", 3), Diagnostic("warning", "no torch"))
    root = as_junit(Report((samples.NOTE, samples.SUSPECTED), diagnostics=faults, seconds=1.5))
    note, warning = (suite.find("testcase") for suite in root.findall("testsuite")[:2])
    assert note.find("failure") is None
    assert "squeeze()" in note.findtext("system-out")
    assert warning.find("failure").get("type") == "warning (suspected)"
    assert warning.get("classname") == "src.models.wide.Wide.forward"
    broken, run = root.find("testsuite[@name='onnxlint']")
    assert (broken.get("name"), broken.find("error").get("message")) == ("größe.py:3", "does not parse")
    assert run.findtext("system-out").startswith("no torch\n")
    assert (root.get("errors"), root.get("failures"), root.get("time")) == ("1", "1", "1.500")


def test_a_model_that_was_not_probed_is_skipped_and_a_crash_fails() -> None:
    unprobed = dataclasses.replace(samples.UNPROBED, reason=None)
    suite = as_junit(Report(models=(unprobed, *samples.REPORTS["failures"].models))).find("testsuite[@name='models']")
    skipped, crash, timeout = suite
    assert skipped.find("skipped").get("message") == ""
    assert crash.find("failure").get("type") == "crash"
    assert crash.find("failure").text is None
    assert timeout.find("failure").text == "src/models/huge.py:31: no answer within 60 s"
    assert (timeout.get("time"), suite.get("skipped"), suite.get("failures")) == ("60.000", "1", "2")
