"""The console in memory: what is drawn comes out as it was given, and nothing of it steers a terminal."""

from __future__ import annotations

import re

import pytest
from rich.table import Table
from rich.text import Text

from onnxlint.report.common.console import Page

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def test_text_is_no_markup_no_emoji_and_not_highlighted() -> None:
    page = Page(color=True, width=60)
    page.print("[bold]x[0][/bold] :smile: 'text' 12 http://example.org")
    assert page.drawn == "[bold]x[0][/bold] :smile: 'text' 12 http://example.org\n"


def test_no_line_ends_in_spaces_and_the_empty_ones_stay() -> None:
    page = Page(color=False, width=40)
    table = Table("name", "value", show_edge=False)
    table.add_row("a", "")
    page.print(table)
    page.print()
    page.lines([Text("end   ")])
    lines = page.drawn.split("\n")
    assert lines == [line.rstrip() for line in lines]
    assert lines[-3:] == ["", "end", ""]


@pytest.mark.parametrize("color", [False, True], ids=["plain", "coloured"])
def test_lines_are_drawn_as_print_draws_them(color: bool) -> None:
    lines = [
        Text.styled("fehler", "bold red").append(" größer als 画像"),
        Text("\tx = 1", "dim"),
        Text("\x1b[2J##[group]x"),
        Text(""),
    ]
    by_print, by_lines = Page(color=color, width=60), Page(color=color, width=60)
    for line in lines:
        by_print.print(line.copy())
    by_lines.lines(line.copy() for line in lines)
    plain = COLOURS.sub("", by_lines.drawn)
    assert plain == COLOURS.sub("", by_print.drawn)
    assert "fehler größer als 画像\n        x = 1\n" in plain
    assert ("\x1b[1;31mfehler" in by_lines.drawn) is ("\x1b[1;31mfehler" in by_print.drawn) is color
    assert "\x1b[2J" not in by_lines.drawn
    assert "##[" not in by_lines.drawn
    assert "2J" in plain, "what would steer is shown, not dropped"
