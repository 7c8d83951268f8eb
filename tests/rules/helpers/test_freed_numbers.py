"""Variables that hold a number read out of a tensor: the tensor in their place, where everything takes one."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.rules.helpers.freed_numbers import free_names, takes_tensor


def freed(body: str, expression: str) -> str | None:
    """The body after the variables of an expression were freed; None where one cannot be."""
    text = "class M:\n    def forward(self, x, rows):\n" + textwrap.indent(body, " " * 8)
    site = site_at(text, expression, x="tensor", n="data")
    node = site.at_span(cst.BaseExpression)
    assert node is not None
    edits = free_names(site, node)
    if edits is None:
        return None
    return textwrap.dedent(apply_edits(text, list(edits.values())).split("\n", 2)[2])


def test_a_number_that_is_only_computed_with_becomes_the_tensor() -> None:
    assert freed("n = x.sum().item()\ny = n * 2\nreturn y + n > 0\n", "y + n > 0") == (
        "n = x.sum()\ny = n * 2\nreturn y + n > 0\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "n = x.sum().item()\nlog(n)\nreturn n > 0\n",
        "n = x.sum().item()\nrows[n]\nreturn n > 0\n",
        "n = x.sum().item()\n'%d' % n\nreturn n > 0\n",
        "n = x.sum().item()\nn = 1\nreturn n > 0\n",
        "n = int(x.sum())\nreturn n > 0\n",
        "n = rows.item()\nreturn n > 0\n",
    ],
    ids=["passed on", "an index", "formatted", "set twice", "rounded", "of no tensor"],
)
def test_a_number_that_is_needed_as_one_stays(body: str) -> None:
    assert freed(body, "n > 0") is None


def test_what_is_no_number_of_a_tensor_needs_nothing() -> None:
    assert freed("m = 3\nreturn m > 0\n", "m > 0") == "m = 3\nreturn m > 0\n"


@pytest.mark.parametrize(
    ("statement", "takes"),
    [
        ("return v", True),
        ("y = -v + 1", True),
        ("y = x.clamp(v)", True),
        ("y = x.clamp(min=v)", False),
        ("y = x.view(v)", False),
        ("y = float(v)", True),
        ("y = 0 < v < 1", True),
        ("y = v in rows", False),
        ("y = [v]", False),
        ("if v: pass", True),
    ],
)
def test_where_a_tensor_may_stand_for_a_number(statement: str, takes: bool) -> None:
    site = site_at(f"def f(x, v, rows):\n    {statement}\n    return y\n", statement)
    node = next(n for n in site.inside(cst.Name) if n.value == "v")
    assert takes_tensor(site, node) is takes
