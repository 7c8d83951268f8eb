"""The labels of the field study, and how findings are held against them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("field_score", Path(__file__).with_name("score.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["labels.jsonl", "missed.jsonl"])
def test_every_row_names_a_repository_a_line_and_a_reason(name: str) -> None:
    score = script()
    repositories = {row["name"] for row in score.rows("repositories.jsonl")}
    for row in score.rows(name):
        assert row["repo"] in repositories
        assert row["line"] >= 1
        assert row["why"]
        assert name != "labels.jsonl" or row["label"] in score.LABELS


def test_a_finding_takes_the_nearest_label_of_its_code_and_a_label_counts_once() -> None:
    score = script()
    labels = [
        {"file": "a.py", "code": "ONX101", "line": 10, "label": "true"},
        {"file": "a.py", "code": "ONX101", "line": 12, "label": "false"},
    ]
    findings = [{"path": "a.py", "code": "ONX101", "line": line} for line in (11, 12, 13, 40)]
    count, new = score.judged(findings, labels)
    assert count == {"true": 1, "false": 1}
    assert [f["line"] for f in new] == [13, 40]


def test_a_missed_hazard_is_found_by_any_finding_near_its_lines() -> None:
    score = script()
    missed = {"file": "a.py", "line": 20, "end_line": 24}
    assert score.hit(missed, [{"path": "a.py", "line": 27}])
    assert not score.hit(missed, [{"path": "a.py", "line": 28}, {"path": "b.py", "line": 22}])
