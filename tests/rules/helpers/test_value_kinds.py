"""What an expression is, as far as its tree and the dataflow tell: a tensor, a size, a test that torch can compute."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest
from sites import site_at

from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.value_kinds import (
    SHAPE,
    Values,
    assigned,
    condition,
    fresh,
    may_reshape,
    sizes_of,
    stripped,
)


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def in_function(expression: str, before: str = "", **values: str) -> tuple[Site, cst.BaseExpression]:
    """An expression that a method returns, and its site."""
    body = textwrap.indent(f"{before}\nreturn {expression}\n", " " * 8)
    site = site_at(f"class M:\n    def forward(self, x, n):\n{body}", f"return {expression}", **values)
    (node,) = site.inside(cst.Return)
    assert node.value is not None
    return site, node.value


@pytest.mark.parametrize(
    ("expression", "tensor"),
    [
        ("x", True),
        ("n", False),
        ("unknown", False),
        ("-x + n", True),
        ("not x", False),
        ("x is n", False),
        ("x > n", True),
        ("x[0]", True),
        ("x.shape", False),
        ("x.T", True),
        ("x.item()", False),
        ("x.sum()", True),
        ("self.layer(x)", True),
        ("self.layer(n)", False),
        ("float(x)", False),
        ("abs(x)", True),
        ("x if n else n", False),
    ],
)
def test_tensors_are_told_from_numbers(expression: str, tensor: bool) -> None:
    site, node = in_function(expression, x="tensor:batch,3", n="number")
    assert Values(site).is_tensor(node) is tensor


@pytest.mark.parametrize(
    ("expression", "before", "size"),
    [
        ("x.shape[0] * 2 - 1", "", True),
        ("x.shape[0] / 2", "", False),
        ("x.size(1) // 2", "", True),
        ("x.size()", "", False),
        ("x.shape[1:]", "", False),
        ("h // 2", "b, h = x.shape", True),
        ("h // 2", "b, h = x.shape[-2:]", True),
        ("h", "h = x.shape[0]\nh = n", False),
        ("h", "h = h + 1", False),
        ("n", "", False),
    ],
)
def test_sizes_are_whole_numbers_made_of_sizes(expression: str, before: str, size: bool) -> None:
    site, node = in_function(expression, before, x="tensor")
    assert Values(site).is_size(node) is size


def test_a_variable_that_the_dataflow_knows_as_a_dim_is_a_size() -> None:
    site, node = in_function("n + 1", n="dim:batch")
    assert Values(site).is_size(node)


def test_what_a_variable_is_assigned_is_told_for_each_assignment() -> None:
    site, node = in_function("y", "y, z = x, 1\ny = x + 1\ny += 1\nfor y in x.shape: pass\n(y, *z) = x")
    assert isinstance(node, cst.Name)
    values = [None if value is None else value if value is SHAPE else code(value) for value in assigned(site, node)]
    assert values == ["x", "x + 1", None, SHAPE, None]
    site, node = in_function("x")
    assert isinstance(node, cst.Name)
    assert list(assigned(site, node)) == [None], "a parameter may be anything"


@pytest.mark.parametrize(
    ("description", "sizes"),
    [("tensor:batch,3", ["batch", "3"]), ("tensor/bool:", []), ("tensor", None), ("dim:batch", None)],
)
def test_sizes_are_read_from_a_description_of_a_tensor(description: str, sizes: list[str] | None) -> None:
    assert sizes_of(description) == sizes


@pytest.mark.parametrize(
    ("expression", "inner"),
    [
        ("float(x.sum().item())", "x.sum()"),
        ("x.detach().cpu().item()", "x"),
        ("int(x)", "int(x)"),
        ("x.item(0)", "x.item(0)"),
    ],
)
def test_conversions_to_a_number_are_taken_off(expression: str, inner: str) -> None:
    assert code(stripped(cst.parse_expression(expression))) == inner


@pytest.mark.parametrize(
    ("test", "expression"),
    [
        ("x.sum() > 0", "x.sum() > 0"),
        ("not x.any()", "torch.logical_not(x.any())"),
        ("x.max() > 1 and x.min() < 0", "torch.logical_and(x.max() > 1, x.min() < 0)"),
        ("x.max() > 1 or n", None),
        ("0 < x.sum().item() < 1", "torch.logical_and(0 < x.sum(), x.sum() < 1)"),
        ("torch.equal(x, x + 1)", "(x == (x + 1)).all()"),
        ("torch.allclose(x, x, atol=n)", "torch.isclose(x, x, atol=n).all()"),
        ("x.sum()", "x.sum() != 0"),
        ("x is None", None),
        ("n > 0", None),
    ],
)
def test_a_test_becomes_a_boolean_tensor_or_nothing(test: str, expression: str | None) -> None:
    site, node = in_function(test, x="tensor")
    found = condition(Values(site), node)
    assert (found if found is None else code(found)) == expression


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("x[0]", True),
        ("x.sum()", True),
        ("x.view(1).float()", True),
        ("x.exp().float()", False),
        ("x @ y", True),
        ("x * y", False),
    ],
)
def test_operators_that_keep_the_shape_are_known(expression: str, may: bool) -> None:
    assert may_reshape(cst.parse_expression(expression)) is may


def test_a_new_name_is_one_that_the_function_has_not_got() -> None:
    site, node = in_function("mask", "mask = x\nmask_2 = x")
    function = site.function(node)
    assert function is not None
    assert [fresh(site, function, name) for name in ("mask", "n", "keep")] == ["mask_3", "n_2", "keep"]
