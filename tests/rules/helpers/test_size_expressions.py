"""Sizes: which axis of which tensor they are, and whole-number arithmetic that gives what Python's does."""

from __future__ import annotations

import math
import textwrap

import libcst as cst
import pytest
from sites import site_at

from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.size_expressions import axis_of, ceiling, size_named, whole
from onnxlint.rules.helpers.value_kinds import Values


def code(node: cst.CSTNode | None) -> str | None:
    return None if node is None else cst.Module([]).code_for_node(node)


def in_function(expression: str, before: str = "", **values: str) -> tuple[Site, cst.BaseExpression]:
    """A call that a method returns, and its argument."""
    body = textwrap.indent(f"{before}\nreturn f({expression})\n", " " * 8)
    site = site_at(f"class M:\n    def forward(self, x, y, p):\n{body}", f"f({expression})", **values)
    node = site.at_span(cst.Call)
    assert node is not None
    return site, node.args[0].value


@pytest.mark.parametrize(
    ("expression", "before", "axis"),
    [
        ("x.shape[-1]", "", ("x", -1)),
        ("x.size(0)", "", ("x", 0)),
        ("h", "b, h = self.net(x).shape", ("self.net(x)", 1)),
        ("b", "b = x.shape[0]", ("x", 0)),
        ("b", "b = x.shape[0]\nb = 1", None),
        ("x.shape[i]", "", None),
        ("x.shape", "", None),
        ("p", "", None),
    ],
)
def test_the_axis_of_a_size_is_found(expression: str, before: str, axis: tuple[str, int] | None) -> None:
    site, node = in_function(expression, before)
    told = axis_of(site, node)
    assert (None if told is None else (code(told[0]), told[1])) == axis


def test_a_dynamic_axis_is_named_by_a_tensor_in_scope() -> None:
    site, _ = in_function("x", x="tensor:3,batch", y="tensor:batch", z="tensor:height")
    assert size_named(site, "batch") == "x.shape[1]"
    assert size_named(site, "batch", first="y") == "y.shape[0]"
    assert size_named(site, "height") == "z.shape[0]"
    assert size_named(site, "width") is None


@pytest.mark.parametrize(
    ("expression", "python"),
    [
        ("x.shape[0] / 2", "int(n / 2)"),
        ("x.shape[0] * 0.25", "int(n * 0.25)"),
        ("2.0 * (x.shape[0] + 1)", "int(2.0 * (n + 1))"),
        ("(x.shape[0] - 1)", "n - 1"),
    ],
)
def test_whole_numbers_are_the_same_for_every_size(expression: str, python: str) -> None:
    site, node = in_function(expression)
    made = code(whole(Values(site), node))
    assert made is not None
    for n in range(1, 40):
        assert eval(made.replace("x.shape[0]", str(n))) == eval(python, {"n": n}), made


@pytest.mark.parametrize("expression", ["x.shape[0] * 0.1", "x.shape[0] / p", "x.shape[0] / -2", "p / 2"])
def test_where_a_rounding_would_differ_nothing_is_written(expression: str) -> None:
    site, node = in_function(expression)
    assert whole(Values(site), node) is None


@pytest.mark.parametrize("parts", ["3", "p"])
def test_a_quotient_is_rounded_up_without_a_negative_number(parts: str) -> None:
    site, node = in_function(f"x.shape[0] / {parts}")
    made = code(ceiling(Values(site), node))
    assert made is not None
    assert "-x" not in made
    for n in range(1, 40):
        assert eval(made.replace("x.shape[0]", str(n)), {"p": 3}) == math.ceil(n / 3), made
    site, node = in_function("x.shape[0] / 0")
    assert ceiling(Values(site), node) is None
