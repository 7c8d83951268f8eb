"""What is said of a rule whose contract and class do not agree; `mistakes` is what an author's tests call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onnxlint.base.catalogue import load_catalogue
from onnxlint.testing import marks, mistakes


def test_a_rule_whose_examples_hold_has_none() -> None:
    assert mistakes("ONX205") == []


def test_a_rule_that_is_not_installed_is_said_to_be_missing() -> None:
    assert mistakes("ONXNONE101") == ["no rule ONXNONE101 is installed"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("  # expect: ONX205", "", "Bad line 9: ONX205: "),
        (".squeeze())  # expect: ONX205", ".flatten(1))  # expect: ONX205", "Bad line 9: ONX205 is missing"),
        (".flatten(1)", ".squeeze()", "Good line "),
    ],
    ids=["a finding without a mark", "a mark without a finding", "a finding in Good"],
)
def test_examples_that_do_not_hold_are_named_by_their_lines(
    before: str, after: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = dict(load_catalogue())
    rule = catalogue["ONX205"]
    assert before in rule.text
    catalogue["ONX205"] = replace(rule, text=rule.text.replace(before, after))
    monkeypatch.setattr("onnxlint.testing.load_catalogue", lambda: catalogue)
    assert any(mistake.startswith(words) for mistake in mistakes("ONX205")), mistakes("ONX205")


def test_marks_are_read_by_kind_with_several_codes() -> None:
    source = "x = 1  # expect: ONX101, ONX205\ny = 2  # ok: ONX101\n# nothing: ONX101\n"
    assert marks(source) == {("ONX101", 1), ("ONX205", 1)}
    assert marks(source, "ok") == {("ONX101", 2)}
