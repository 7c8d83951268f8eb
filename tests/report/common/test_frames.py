"""Code frames hold whatever the source holds: tabs, wide characters, long lines, spans over many lines."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxlint.base.records import Span
from onnxlint.report.common.frames import code_frame


def frame(lines: list[str], span: tuple[int, int, int, int], label: str = "here", width: int = 60) -> list[str]:
    drawn = code_frame(lines, Span("m.py", *span), label, width=width, gutter=2, style="red")
    return [line.plain for line in drawn]


def test_the_span_is_underlined_between_its_neighbours() -> None:
    assert frame(["a = 1", "b = two", "c = 3"], (2, 5, 2, 8)) == [
        "   |",
        " 1 | a = 1",
        " 2 | b = two",
        "   |     ^^^ here",
        " 3 | c = 3",
        "   |",
    ]


def test_an_empty_span_is_its_whole_line() -> None:
    assert frame(["  b = two  "], (1, 1, 1, 1))[2] == "   |   ^^^^^^^ here"


def test_tabs_stop_at_every_fourth_cell_and_line_ends_are_dropped() -> None:
    assert frame(["\tx\ty = z\r\n"], (1, 4, 1, 5))[1:3] == [" 1 |     x   y = z", "   |         ^ here"]


def test_wide_characters_take_two_cells() -> None:
    assert frame(["画像 = x"], (1, 1, 1, 3))[2] == "   | ^^^^ here"


def test_combining_marks_take_none() -> None:
    assert frame(["e\u0301 = x"], (1, 6, 1, 7))[2] == "   |     ^ here"


def test_control_characters_are_pictures() -> None:
    assert frame(["s = '\x1b[31m'"], (1, 1, 1, 2))[1] == " 1 | s = '␛[31m'"


def test_a_long_line_is_cut_around_the_span() -> None:
    line = "x = " + "a + " * 60 + "BAD + " + "b + " * 60
    drawn = frame([line], (1, line.index("BAD") + 1, 1, line.index("BAD") + 4))
    assert drawn[1].startswith(" 1 | …")
    assert drawn[1].endswith("…")
    assert drawn[1][drawn[2].index("^") :].startswith("BAD")


def test_a_span_longer_than_the_window_is_underlined_up_to_its_edge() -> None:
    drawn = frame(["y = " + "a" * 200], (1, 5, 1, 205), label="")
    assert drawn[1].endswith("a…")
    assert len(drawn[2]) == 60


def test_a_label_without_room_stands_beneath() -> None:
    drawn = frame(["a" * 50], (1, 40, 1, 51), label="this label is too long for the room that is left there")
    assert drawn[2].endswith("^^^^^^^^^^^")
    assert " ".join(" ".join(part.split()[1:]) for part in drawn[3:-1]) == (
        "this label is too long for the room that is left there"
    )


def test_a_span_over_lines_is_bracketed() -> None:
    assert frame(["f(", "  a,", ")"], (1, 1, 3, 2)) == [
        "   |",
        " 1 | / f(",
        " 2 | |   a,",
        " 3 | | )",
        "   | |_^ here",
        "   |",
    ]


def test_a_span_that_ends_before_a_line_does_not_show_it() -> None:
    assert frame(["f()", "g()"], (1, 1, 2, 1))[1:3] == [" 1 | f()", "   | ^^^ here"]


def test_the_middle_of_a_long_span_is_left_out() -> None:
    drawn = frame([f"line{i}" for i in range(20)], (1, 1, 20, 7))
    assert any(line.startswith("...") for line in drawn)
    assert len(drawn) == 9


@pytest.mark.parametrize("span", [(0, 1, 0, 2), (5, 1, 5, 2)])
def test_a_span_outside_of_the_source_has_no_frame(span: tuple[int, int, int, int]) -> None:
    assert frame(["a"], span) == []


text = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=120)


@given(st.lists(text, min_size=1, max_size=9), st.data(), st.integers(30, 90))
def test_every_line_fits_and_the_carets_stand_under_the_span(lines: list[str], data: st.DataObject, width: int) -> None:
    line = data.draw(st.integers(1, len(lines)))
    end_line = data.draw(st.integers(line, len(lines)))
    column = data.draw(st.integers(1, 130))
    end_column = data.draw(st.integers(1, 130))
    drawn = frame(lines, (line, column, end_line, end_column), label="", width=width)
    assert len(drawn) >= 4
    assert all(cell_len(row) <= width for row in drawn)
    assert any("^" in row for row in drawn)
    assert all(unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} for row in drawn for char in row)
