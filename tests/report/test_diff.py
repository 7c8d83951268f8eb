"""A fix is shown as the lines that it takes and gives; one that does not fit the source is not shown."""

from __future__ import annotations

import pytest

from onnxlint.records import Edit, Fix, Safety
from onnxlint.report.diff import apply_edits, fix_diff

LINES = ["a = f(x)\r\n", "b = 2\r\n", "c = 3\r\n"]


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
    assert shown(edit((4, 1), (4, 1), "\nd = 4")) == ["   4 + d = 4"]


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
    assert apply_edits(["a = f(x)", "b = 2"], edits) is None
    assert shown(*edits) == []


def test_a_long_diff_is_cut() -> None:
    drawn = shown(edit((1, 1), (3, 6), "\n".join(f"x{i}" for i in range(30))))
    assert len(drawn) == 13
    assert drawn[-1] == "… 21 more lines"
