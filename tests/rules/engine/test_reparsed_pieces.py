"""A fix is checked on the statements around its edits: it passes there if and only if the file parses after it."""

from __future__ import annotations

import ast

import pytest

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Edit, Fix, Safety
from onnxlint.rules.engine.reparsed_pieces import check
from onnxlint.rules.engine.source_page import Page

TEXT = """\
import torch


class M:
    @property
    def a(self):
        x = 1; y = [
            2]
        if x: \\
            y = 3; z = 4
        return y

    def forward(self, x):
        if x:
            return 1
        elif y:
            x = 2
        else:
            x = '''
  text ''' ; y = 2
        try:
            x = 3
            y = 4
        except E:
            pass
        return x
"""
NEW = ("", "pass", "x = (", ")", "\n", "    ", "x = 5\n        y = 6", "    else:\n", "'''", "\\\n", "if a:\n")


@pytest.mark.parametrize("new", NEW)
def test_a_piece_parses_if_and_only_if_the_file_does(new: str) -> None:
    rows = TEXT.split("\n")
    tried = 0
    for line in range(5, len(rows)):
        width = len(rows[line - 1])
        indent = width - len(rows[line - 1].lstrip())
        ends = [(line, width + 1), (line + 1, 1), (line, indent + 1), (min(line + 2, len(rows)), 1)]
        for start in {(line, 1), (line, indent + 1), (line, width + 1)}:
            for end in [e for e in ends if e >= start]:
                edit = Edit("m.py", start, end, new)
                tried += 1
                assert _passes(edit) == _parses(apply_edits(TEXT, [edit])), (edit, apply_edits(TEXT, [edit]))
    assert tried > 150


def _passes(edit: Edit) -> bool:
    try:
        check(Page("m.py", TEXT), Fix("mend it", Safety.SAFE, (edit,)), edit.start[0])
    except (SyntaxError, ValueError):
        return False
    return True


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
