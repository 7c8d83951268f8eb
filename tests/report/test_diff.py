"""A fix is shown as the lines that it takes and gives; one that does not fit the source is not shown."""

from __future__ import annotations

from typing import Any

import pytest

from onnxlint.records import Edit, Fix, Safety
from onnxlint.report.diff import fix_diff
from onnxlint.report.hunks import Hunk, hunks

LINES = ["a = f(x)\r\n", "b = 2\r\n", "c = 3\r\n", ""]


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    return Edit("m.py", start, end, text)


def shown(*edits: Edit) -> list[str]:
    fix = Fix("mend it", Safety.SAFE, edits)
    return [line.plain for line in fix_diff(fix, lambda path: LINES if path == "m.py" else [])]


def test_edits_on_one_line() -> None:
    assert shown(edit((1, 5), (1, 6), "g"), edit((1, 7), (1, 8), "y")) == ["   1 - a = f(x)", "   1 + a = g(y)"]


def test_an_edit_that_removes_a_line() -> None:
    assert shown(edit((2, 1), (3, 1), "")) == ["   2 - b = 2"]


def test_an_edit_that_adds_at_the_end() -> None:
    assert shown(edit((4, 1), (4, 1), "d = 4\n")) == ["   4 + d = 4"]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param((edit((9, 1), (9, 2), ""),), id="beyond the last line"),
        pytest.param((edit((1, 40), (1, 41), ""),), id="beyond the end of the line"),
        pytest.param((edit((2, 1), (1, 1), ""),), id="backwards"),
        pytest.param((edit((1, 1), (1, 6), ""), edit((1, 3), (1, 4), "")), id="overlapping"),
    ],
)
def test_edits_that_do_not_fit(edits: tuple[Edit, ...]) -> None:
    assert hunks(Fix("mend it", Safety.SAFE, edits), lambda path: LINES) == []
    assert shown(*edits) == []


def test_a_long_diff_is_cut() -> None:
    drawn = shown(edit((1, 1), (3, 6), "\n".join(f"x{i}" for i in range(30))))
    assert len(drawn) == 13
    assert drawn[-1] == "… 21 more lines"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param((edit((2, 5), (2, 6), "9"),), [(2, 2, "b = 9")], id="a word"),
        pytest.param((edit((2, 1), (3, 1), ""),), [(2, 2)], id="a line goes"),
        pytest.param((edit((1, 1), (1, 1), "import z\n"),), [(1, 1, "import z", "a = f(x)")], id="a line comes first"),
        pytest.param((edit((3, 1), (3, 1), "z = 0\n"),), [(2, 2, "b = 2", "z = 0")], id="a line comes between"),
        pytest.param(
            (edit((1, 1), (1, 2), "z"), edit((3, 1), (3, 2), "y")), [(1, 3, "z = f(x)", "b = 2", "y = 3")], id="near"
        ),
    ],
)
def test_a_hunk_replaces_whole_lines(edits: tuple[Edit, ...], expected: list[Any]) -> None:
    found = hunks(Fix("mend it", Safety.SAFE, edits), lambda path: LINES)
    assert found == [Hunk("m.py", first, last, tuple(lines)) for first, last, *lines in expected]


def test_changes_far_apart_are_two_hunks() -> None:
    lines = [f"x{i} = {i}" for i in range(20)]
    fix = Fix("mend it", Safety.SAFE, (edit((2, 1), (2, 2), "y"), edit((18, 1), (18, 2), "y")))
    assert [(h.first, h.last, h.lines) for h in hunks(fix, lambda path: lines)] == [
        (2, 2, ("y1 = 1",)),
        (18, 18, ("y17 = 17",)),
    ]
