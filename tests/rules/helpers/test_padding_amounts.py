"""Branches that pad a tensor, and the amounts that their tests ask for."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest
from sites import site_at

from onnxlint.rules.helpers.padding_amounts import amounts, asked_for, padding_in, pads_only


def code(node: cst.CSTNode | None) -> str | None:
    return None if node is None else cst.Module([]).code_for_node(node)


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("p", ["p"]),
        ("p > 0 or q != 0", ["p", "q"]),
        ("p or q or r", ["p", "q", "r"]),
        ("p > 1", None),
        ("p < 0", None),
        ("0 < p < 3", None),
        ("p and q", None),
        ("x.size(0) % 4", None),
    ],
)
def test_the_variables_that_a_test_asks_for_being_other_than_zero(test: str, names: list[str] | None) -> None:
    variables = amounts(cst.parse_expression(test))
    assert (None if variables is None else [name.value for name in variables]) == names


def test_any_expression_may_be_asked_for() -> None:
    assert code(asked_for(cst.parse_expression("n % k != 0"))) == "n % k"
    assert asked_for(cst.parse_expression("n % k == 0")) is None


@pytest.mark.parametrize(
    ("before", "test", "body", "only"),
    [
        ("p = -n % k", "p > 0", "x = F.pad(x, (0, p))", True),
        ("p = (k - n % k) % k\nq = -m % k", "p or q", "x = F.pad(x, (0, p, 0, q))", True),
        ("p = k - n % k", "p > 0", "x = F.pad(x, (0, p))", False),
        ("p = -n % k", "p > 0", "x = F.pad(x, (1, p))", False),
        ("p = -n % k", "p > 0", "x = F.pad(x, (0, q))", False),
        ("p = -n % k", "p > 0", "x = crop(x, (0, p))", False),
        ("p = -n % k\np = 3", "p > 0", "x = F.pad(x, (0, p))", False),
    ],
)
def test_a_branch_that_pads_by_remainders_alone(before: str, test: str, body: str, only: bool) -> None:
    text = f"{before}\nif {test}:\n    {body}\nreturn x\n"
    site = site_at("def f(x, n, m, k):\n" + textwrap.indent(text, "    "), f"if {test}:\n        {body}")
    branch = site.at_span(cst.If)
    assert branch is not None
    assert pads_only(site, branch) is only
    assert (padding_in(branch) is not None) is ("pad" in body)
