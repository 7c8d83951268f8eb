"""Source excerpts: the lines around a span, what of them is marked, and the kinds of their tokens."""

from __future__ import annotations

import pytest

from onnxlint.base.records import Span
from onnxlint.report.html.code import Excerpts, Line

SOURCE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        # größer
        if x.sum() > 0:
            return x * 2
        return "画像"

"""


def of(text: str) -> Excerpts:
    return Excerpts(lambda path: text.splitlines(keepends=True) if path == "m.py" else [])


def plain(line: Line) -> str:
    return "".join(piece.text for piece in line.pieces)


def marked(lines: tuple[Line, ...]) -> list[str]:
    return [text for line in lines if (text := "".join(piece.text for piece in line.pieces if piece.marked))]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_span_is_marked_and_three_lines_stand_on_each_side_of_it(end: str) -> None:
    lines = of(SOURCE.replace("\n", end)).around(Span("m.py", 7, 12, 7, 23))
    assert [line.number for line in lines] == [4, 5, 6, 7, 8, 9], "the empty line 10 shows nothing"
    assert [line.about for line in lines] == [False, False, False, True, False, False]
    assert marked(lines) == ["x.sum() > 0"]
    assert plain(lines[-1]) == '        return "画像"'


def test_tokens_have_their_kinds() -> None:
    lines = of(SOURCE).around(Span("m.py", 7, 12, 7, 23))
    kinds = {piece.text.strip(): piece.kind for line in lines for piece in line.pieces}
    assert (kinds["# größer"], kinds["if"], kinds["2"], kinds['"画像"'], kinds["Net"]) == ("c", "k", "n", "s", "f")


def test_a_place_that_is_not_in_the_file_has_no_excerpt() -> None:
    excerpts = of(SOURCE)
    assert excerpts.around(Span("m.py", 99, 1, 99, 2)) == ()
    assert excerpts.around(Span("m.py", 0, 0, 0, 0)) == ()
    assert excerpts.around(Span("gone.py", 1, 1, 1, 2)) == ()
    assert excerpts.at("m.py", 0) == excerpts.at("m.py", 11) == excerpts.at("gone.py", 1) == ()


def test_an_empty_span_marks_its_line_and_one_over_lines_marks_their_code() -> None:
    assert marked(of(SOURCE).around(Span("m.py", 7, 1, 7, 1))) == ["if x.sum() > 0:"]
    assert marked(of(SOURCE).around(Span("m.py", 7, 9, 8, 25))) == ["if x.sum() > 0:", "return x * 2"]
    assert marked(of(SOURCE).around(Span("m.py", 7, 9, 8, 1))) == ["if x.sum() > 0:"], "it ends before line 8"


def test_of_a_long_span_the_beginning_and_the_end_are_shown() -> None:
    numbers = [line.number for line in of("x = (\n" + "    1,\n" * 40 + ")\n").around(Span("m.py", 1, 1, 42, 2))]
    assert numbers == [*range(1, 10), 0, 41, 42]


def test_tabs_are_four_columns_and_a_line_without_end_is_cut() -> None:
    assert plain(of("if x:\n\ty\t= 1\n").around(Span("m.py", 2, 2, 2, 3))[1]) == "    y   = 1"
    long = plain(of("x = '" + "a" * 9000 + "'").around(Span("m.py", 1, 1, 1, 2))[0])
    assert len(long) == 2001
    assert long.endswith("a…")


def test_one_line_stands_without_its_indentation() -> None:
    assert "".join(piece.text for piece in of(SOURCE).at("m.py", 8)) == "return x * 2"


def test_a_file_that_is_no_python_is_shown_all_the_same() -> None:
    lines = of("def (:\n '''open\x1b[31m\n").around(Span("m.py", 2, 2, 2, 5))
    assert [line.number for line in lines] == [1, 2]
    assert marked(lines) == ["'''"]
    assert "\x1b" not in plain(lines[1])
