"""A file as text: the class or function around a line, its imports, and what of the text a fix hangs on."""

from __future__ import annotations

import libcst as cst
import pytest

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Span
from onnxlint.rules.engine.cst_tree import BeyondStatement, walk
from onnxlint.rules.engine.source_page import Page

TEXT = '''\
"""Gates."""
import os.path
import torch.nn.functional as F
from torch import (nn, Tensor as T)
from . import sibling

WIDTH = 3


class Gate(nn.Module):
    def __init__(self):
        self.width = WIDTH

    @torch.no_grad()
    def forward(self, x):
        y = f(
            x,
        )
        return y


def f(x):
    return x
'''


def test_a_region_is_the_class_or_the_function_at_the_margin() -> None:
    page = Page("model.py", TEXT)
    gate, function = page.region(16), page.region(22)
    assert (page.rows(gate.first, gate.first), page.rows(function.first, function.first)) == (
        "class Gate(nn.Module):\n",
        "def f(x):\n",
    )
    assert page.region(11) is gate
    assert (page.region(7).first, page.region(7).last) == (1, len(page.lines))


def test_a_method_stands_in_the_head_of_its_class_with_its_decorators() -> None:
    page = Page("model.py", TEXT)
    tree = page.region(16).around(16)
    assert [n.name.value for n in walk(tree.root) if isinstance(n, (cst.ClassDef, cst.FunctionDef))] == [
        "Gate",
        "forward",
    ]
    function = next(n for n in walk(tree.root) if isinstance(n, cst.FunctionDef))
    assert tree.whole(function)[0][0] == TEXT.splitlines().index("    @torch.no_grad()") + 1


def test_a_margin_within_a_string_is_no_end_of_a_function() -> None:
    text = 'def f(x):\n    note = """\nclass not_one:\n"""\n    return x.item()\n'
    region = Page("model.py", text).region(5)
    assert region.first == 1
    assert [type(node).__name__ for node in region.tree.body] == ["FunctionDef"]


def test_a_statement_goes_as_far_as_what_is_indented_more() -> None:
    page = Page("model.py", TEXT)
    tree = page.statement(16, 18)
    assert any(isinstance(node, cst.Call) and tree.range(node)[1] == (18, 10) for node in walk(tree.root))
    with pytest.raises(BeyondStatement):
        page.statement(16, 19)
    with pytest.raises(BeyondStatement):
        page.statement(7, 7)  # at the margin


def test_imports_are_known_by_the_name_that_they_have_in_the_file() -> None:
    imports = Page("model.py", TEXT).imports
    assert imports == {
        "os": "os",
        "F": "torch.nn.functional",
        "nn": "torch.nn",
        "T": "torch.Tensor",
        "sibling": "..sibling",
    }


@pytest.mark.parametrize(
    "before",
    ['"""Doc."""\n', "from __future__ import annotations\n", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"],
)
def test_torch_is_imported_behind_what_has_to_come_first(before: str) -> None:
    page = Page("model.py", f"{before}x = 1\n")
    after = apply_edits(page.text, [page.import_of_torch])
    assert after.replace("\n\n", "\n") == f"{before}import torch\nx = 1\n"


def test_the_text_of_a_span_and_of_a_line_that_is_not_there() -> None:
    page = Page("model.py", "a = 'é'\r\nb = a\r\n")
    assert page.between(Span("model.py", 1, 5, 2, 2)) == "'é'\r\nb"
    assert (page.line(2), page.line(0)) == ("b = a", "")
