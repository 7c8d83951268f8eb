"""The sentences at the end of a run."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest
import report_samples as samples

from onnxlint.base.records import Report, Severity, VerdictKind
from onnxlint.report.common import run_summary


def test_the_summary_counts_what_is_hidden() -> None:
    report = samples.REPORTS["whole"]
    assert "(2 notes hidden, --show all)" in run_summary.summary(report, show_all=False)
    assert "hidden" not in run_summary.summary(report, show_all=True)
    assert "1 not reproduced" in run_summary.summary(report, show_all=True)


def test_the_summary_counts_among_what_is_hidden_what_no_export_comes_to() -> None:
    note = dataclasses.replace(samples.CONFIRMED, severity=Severity.NOTE, outside="a test")
    shown = dataclasses.replace(samples.CONFIRMED, outside="a demo")
    report = Report((shown, note, dataclasses.replace(note, outside="")))
    hidden = "(2 notes hidden, 1 of them without effect on any export, --show all)"
    assert hidden in run_summary.summary(report, show_all=False)


def test_a_command_to_copy_names_the_file_whatever_is_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a  b; touch pwned.py"
    (tmp_path / name).touch()
    finding = dataclasses.replace(samples.CONFIRMED, span=dataclasses.replace(samples.CONFIRMED.span, path=name))
    sentence = run_summary.fixes(Report((finding,), captured=True), show_all=False)
    assert shlex.split(sentence.split("`")[1])[-1] == name


def test_a_report_ends_with_what_can_be_done() -> None:
    whole = samples.REPORTS["whole"]
    assert run_summary.reproductions(whole, show_all=True).startswith(
        "1 confirmed finding has a reproduction: `onnxlint repro "
    )
    assert run_summary.reproductions(Report(), show_all=True) == ""
    suspected = tuple(dataclasses.replace(f, verdict=VerdictKind.SUSPECTED) for f in whole.findings)
    assert run_summary.reproductions(dataclasses.replace(whole, findings=suspected), show_all=True) == ""
    (proved,) = [f for f in whole.findings if any(e.repro for e in f.evidence)]
    moved = tuple(dataclasses.replace(e, repro="kept/else where/repro.py") for e in proved.evidence)
    told = run_summary.reproductions(Report(findings=(dataclasses.replace(proved, evidence=moved),)), show_all=False)
    assert told.endswith("`onnxlint repro 'else where' --repro-dir kept`")
