"""How often each rule was found, for people and for programs."""

from __future__ import annotations

import dataclasses
import json

import report_samples as samples

from onnxlint.base.records import Diagnostic, Report, VerdictKind
from onnxlint.report.formats.tally import statistics

MANY = (*[samples.SUSPECTED] * 11, samples.CONFIRMED, samples.NOTE, samples.NOT_REPRODUCED)


def test_the_most_frequent_rule_stands_first_and_the_columns_are_aligned() -> None:
    lines = statistics(Report(MANY, files=3), show_all=True, machine=False).splitlines()
    assert lines[:4] == [
        "11  ONX201  literal-batch     11 warning; 11 suspected",
        " 1  ONX101  tensor-branch     1 error; 1 confirmed",
        " 1  ONX106  dim-branch        1 note; 1 not reproduced",
        " 1  ONX205  squeeze-all-dims  1 note; 1 suspected",
    ]
    assert len(lines) == 5


def test_what_is_hidden_is_not_counted_until_it_is_asked_for() -> None:
    rows = json.loads(statistics(Report(MANY), show_all=False, machine=True))
    assert [(row["code"], row["count"]) for row in rows] == [("ONX201", 11), ("ONX101", 1)]
    assert "ONX205" in statistics(Report(MANY), show_all=True, machine=True)


def test_a_program_gets_the_parts_of_each_count() -> None:
    mixed = (
        samples.SUSPECTED,
        samples.SUSPECTED,
        dataclasses.replace(samples.SUSPECTED, verdict=VerdictKind.CONFIRMED),
    )
    text = statistics(Report(mixed, diagnostics=(Diagnostic("error", "x"),)), show_all=False, machine=True)
    assert json.loads(text) == [
        {
            "code": "ONX201",
            "rule": "literal-batch",
            "count": 3,
            "severities": {"warning": 3},
            "verdicts": {"confirmed": 1, "suspected": 2},
        }
    ]
    assert text.endswith("]\n")


def test_of_nothing_there_is_an_empty_list_or_the_sentence() -> None:
    assert statistics(Report(), show_all=False, machine=True) == "[]\n"
    assert statistics(Report(), show_all=False, machine=False) == "Nothing found in 0 files; no model probed; 0.0 s\n"


def test_diagnostics_stand_below_with_their_place() -> None:
    faults = (Diagnostic("error", "does not parse", "two words.py", 3), Diagnostic("warning", "no torch"))
    lines = statistics(Report(MANY, diagnostics=faults), show_all=False, machine=False).splitlines()
    assert lines[2:4] == ["two words.py:3:1: error: does not parse", "warning: no torch"]
