"""A report arranged for its page: what is surest comes first, and every finding can be linked to."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import report_samples as samples

from onnxlint.base.records import Diagnostic, Report, Severity, VerdictKind
from onnxlint.report.html.arrange import overview, place


def arranged(report: Report, *, show_all: bool = False) -> SimpleNamespace:
    return overview(report, show_all=show_all, sources=samples.sources, catalogue=samples.catalogue())


def test_the_surest_findings_stand_first_and_what_is_hidden_is_marked() -> None:
    view = arranged(samples.REPORTS["whole"])
    assert [(f.of.code, f.kind, f.shown) for f in view.findings] == [
        ("ONX101", "confirmed", True),
        ("ONX201", "suspected", True),
        ("ONX205", "note", False),
        ("ONX106", "not-reproduced", False),
    ]
    assert all(f.shown for f in arranged(samples.REPORTS["whole"], show_all=True).findings)
    assert [(v.key, v.amount, v.on) for v in view.verdicts] == [
        ("confirmed", 1, True),
        ("suspected", 1, True),
        ("not-reproduced", 1, False),
        ("note", 1, False),
    ]
    assert view.rules == [
        (("ONX101", "tensor-branch"), 1),
        (("ONX106", "dim-branch"), 1),
        (("ONX201", "literal-batch"), 1),
        (("ONX205", "squeeze-all-dims"), 1),
    ]


def test_a_model_that_went_wrong_leads_to_the_first_finding_about_it() -> None:
    view = arranged(samples.REPORTS["whole"])
    anchor = f"f-{samples.CONFIRMED.fingerprint}"
    assert view.leads == {("src.models.gate:Gate", name): anchor for name in ("torchscript", "dynamo")}
    assert [model.name for model in view.unprobed] == ["src.models.wide:Wide"]


def test_equal_findings_have_anchors_of_their_own() -> None:
    view = arranged(Report((samples.CONFIRMED,) * 3))
    first = f"f-{samples.CONFIRMED.fingerprint}"
    assert [finding.anchor for finding in view.findings] == [first, f"{first}-2", f"{first}-3"]


def test_a_fix_comes_as_a_diff_as_code_and_as_a_patch_with_its_promise() -> None:
    (finding,) = arranged(Report((samples.CONFIRMED,))).findings
    assert [(sign, number) for sign, number, _ in finding.remedy.rows] == [("-", 10), ("-", 11), ("-", 12), ("+", 10)]
    assert finding.remedy.code == "        return torch.where(n > 0, h * 2, h * 3)\n"
    assert finding.remedy.patch.startswith("--- a/src/models/gate.py\n+++ b/src/models/gate.py\n")
    assert finding.remedy.promise.startswith("unsafe: ")
    moved = dataclasses.replace(samples.CONFIRMED, span=dataclasses.replace(samples.CONFIRMED.span, path="gone.py"))
    gone = dataclasses.replace(
        moved, fix=dataclasses.replace(moved.fix, edits=(dataclasses.replace(moved.fix.edits[0], path="gone.py"),))
    )
    (finding,) = arranged(Report((gone,))).findings
    assert (finding.remedy.promise, finding.remedy.rows) == ("", []), "an edit that fits no source promises nothing"


def test_where_there_is_no_fix_the_rule_advises() -> None:
    (finding,) = arranged(Report((samples.NOTE,))).findings
    assert finding.remedy.title == "Do without `squeeze-all-dims()`. It pays."
    (finding,) = arranged(Report((dataclasses.replace(samples.NOTE, code="ONX999"),))).findings
    assert finding.remedy is None


@pytest.mark.parametrize(
    ("report", "state"),
    [
        (Report((samples.CONFIRMED, samples.SUSPECTED)), "confirmed"),
        (Report((samples.SUSPECTED,)), "suspected"),
        (Report((samples.NOTE,)), "open"),
        (Report(models=(samples.GOOD,)), "fine"),
        (Report(models=(samples.GOOD, samples.UNPROBED)), "open"),
        (Report(models=(samples.GOOD,), diagnostics=(Diagnostic("error", "x"),)), "confirmed"),
        (samples.REPORTS["failures"], "confirmed"),
    ],
)
def test_the_colour_of_the_page_is_that_of_the_worst(report: Report, state: str) -> None:
    assert arranged(report).state == state


def test_errors_stand_before_warnings_and_an_interrupted_run_says_so_first() -> None:
    faults = (Diagnostic("warning", "w", "two words.py", 4), Diagnostic("error", "e"))
    notices = arranged(Report(diagnostics=faults, interrupted=True)).notices
    assert [(kind, at, message) for kind, _, at, message in notices[1:]] == [
        ("error", "", "e"),
        ("warning", "two words.py:4", "w"),
    ]
    assert "interrupted" in notices[0][3]


def test_the_filter_looks_at_message_path_symbol_and_models_in_small_letters() -> None:
    odd = dataclasses.replace(
        samples.CONFIRMED, message="GRÖSSE", verdict=VerdictKind.SUSPECTED, severity=Severity.NOTE
    )
    (finding,) = arranged(Report((odd,))).findings
    for text in ("grösse", "src/models/gate.py", "gate.forward", "n > 0", "src.models.gate:gate"):
        assert text in finding.searched


def test_a_place_names_an_installed_file_from_its_package_on() -> None:
    assert place("/env/lib/python3.11/site-packages/timm/layers/a b.py", 3) == "timm/layers/a b.py:3"
    assert place("src/m.py", None) == "src/m.py"
    assert place(None, 3) == place("", 3) == ""


def test_what_was_measured_is_told_apart_from_what_the_rule_expects() -> None:
    measured, fine, expected = arranged(
        Report((samples.CONFIRMED, samples.SUSPECTED, dataclasses.replace(samples.NOTE, severity=Severity.WARNING)))
    ).findings
    assert [(e.key, e.state, e.effect) for e in measured.exporters] == [
        ("torchscript", "bad", "exports, wrong values on other inputs"),
        ("dynamo", "bad", "refuses to export"),
    ]
    assert [(e.state, e.effect) for e in expected.exporters] == [
        ("open", "expected: exports, fails on other sizes"),
        ("open", "expected: exports, but freezes a dynamic dimension"),
    ]
    assert fine.exporters[1].effect == "is not affected"
    assert [script for _, script in measured.exporters[0].observations] == [samples.CONFIRMED.evidence[0].repro]
