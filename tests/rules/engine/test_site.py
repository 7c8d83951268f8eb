"""Where a finding stands, as a fix sees it: the nodes at its span and around it, and the edits of them."""

from __future__ import annotations

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Finding, Safety, Severity, Span
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.site import Site, argument, is_loaded, literal, names_in, same
from onnxlint.rules.engine.source_page import Page

MODEL = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x, scale):
        size = x.shape[0]
        if x.sum() > 0:  # why
            x = x * scale
        return [x[i] for i in range(size)]

    @staticmethod
    def plain(x):
        return x.item()
"""


def code(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def after(site: Site, *edits: object) -> str:
    return apply_edits(site.page.text, list(edits))  # type: ignore[arg-type]


def test_the_nodes_at_the_finding_and_around_it() -> None:
    site = site_at(MODEL, "x.sum() > 0")
    test = site.at_span(cst.BaseExpression)
    assert isinstance(test, cst.Comparison)
    assert [site.source(call) for call in site.inside(cst.Call)] == ["x.sum()"]
    assert isinstance(site.statement(test), cst.If)
    function = site.function(test)
    assert function is not None
    assert function.name.value == "forward"
    assert site.owner(test) == "self"
    assert [len(site.uses(function, name)) for name in ("x", "size", "nothing")] == [5, 2, 0]
    assert len(site.bindings(function, "i")) == 1


def test_a_static_method_has_no_owner() -> None:
    site = site_at(MODEL, "x.item()")
    node = site.at_span(cst.Call)
    assert node is not None
    assert site.owner(node) is None


def test_what_is_replaced_keeps_what_is_around_it() -> None:
    site = site_at(MODEL, "x.sum() > 0")
    test = site.at_span(cst.BaseExpression)
    assert test is not None
    assert after(site, site.replace(test, cst.Name("True"))) == MODEL.replace("x.sum() > 0", "True")


def test_a_statement_goes_in_front_of_another_on_a_line_of_its_own() -> None:
    site = site_at(MODEL, "x * scale")
    node = site.at_span(cst.BinaryOperation)
    assert node is not None
    statement = site.statement(node)
    assert statement is not None
    new = cst.Assign([cst.AssignTarget(cst.Name("x"))], site.expression("(\n    torch.abs({x})\n)", x=node.left))
    written = MODEL.replace("x = x * scale", "x = (\n    torch.abs(x)\n)\n            x = x * scale")
    assert after(site, site.insert_before(statement, new)) == written


def test_the_last_statement_of_a_block_becomes_pass_and_others_go_with_their_line() -> None:
    site = site_at(MODEL, "x * scale")
    node = site.at_span(cst.BinaryOperation)
    assert node is not None
    only = site.statement(node)
    assert only is not None
    assert after(site, site.remove(only)) == MODEL.replace("x = x * scale", "pass")
    site = site_at(MODEL, "x.shape[0]")
    node = site.at_span(cst.Subscript)
    assert node is not None
    first = site.statement(node)
    assert first is not None
    assert after(site, site.remove(first)) == MODEL.replace("        size = x.shape[0]\n", "")


@pytest.mark.parametrize(
    ("imported", "written"),
    [
        ("import torch\n", "import torch\ny = torch.zeros(1)\n"),
        ("import torch as t\n", "import torch as t\ny = t.zeros(1)\n"),
        ('"""Doc."""\n', '"""Doc."""\nimport torch\n\ny = torch.zeros(1)\n'),
    ],
    ids=["imported", "by another name", "not imported"],
)
def test_torch_is_written_as_the_file_imports_it(imported: str, written: str) -> None:
    site = site_at(f"{imported}y = f(1)\n", "f(1)")
    node = site.at_span(cst.Call)
    assert node is not None
    fix = site.fix("use zeros", Safety.SAFE, site.replace(node, site.expression("torch.zeros(1)")))
    assert after(site, *fix.edits) == written


@pytest.mark.parametrize(
    ("name", "position", "value"), [("dim", 1, "0"), ("dim", None, None), ("keepdim", 1, "True"), ("out", 2, None)]
)
def test_an_argument_is_found_by_name_and_by_position(name: str, position: int | None, value: str | None) -> None:
    call = code("x.sum(y, 0, keepdim=True)")
    assert isinstance(call, cst.Call)
    node = argument(call, name, position)
    assert (None if node is None else cst.Module([]).code_for_node(node)) == value


def test_behind_a_star_no_position_is_known() -> None:
    call = code("f(*rest, 0)")
    assert isinstance(call, cst.Call)
    assert argument(call, "dim", 1) is None


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("x.shape[0]", "(x . shape[ 0 ])", True),
        ("x < y", "x > y", False),
        ("f(*a)", "f(a)", False),
        ("f(a=1)", "f(b=1)", False),
        ("-1", "1", False),
    ],
)
def test_expressions_are_the_same_whatever_their_layout(one: str, other: str, equal: bool) -> None:
    assert same(code(one), code(other)) is equal


def test_names_are_variables_and_nothing_else() -> None:
    assert names_in(code("f(x.y, key=z, other=[w for w in True])")) == {"f", "x", "z", "w"}


@pytest.mark.parametrize(("text", "value"), [("3", 3), ("-1", -1), ("1.5", None), ("n", None)])
def test_a_number_is_read_with_its_sign(text: str, value: int | None) -> None:
    assert literal(code(text)) == value


@pytest.mark.parametrize(
    ("text", "loaded"),
    [("y = x\n", True), ("x = y\n", False), ("for x in y: pass\n", False), ("(a, x) = y\n", False), ("del x\n", False)],
)
def test_reading_a_variable_is_told_from_binding_it(text: str, loaded: bool) -> None:
    site = site_at(text, "x")
    node = site.at_span(cst.Name)
    assert node is not None
    assert is_loaded(site, node) is loaded


@pytest.mark.parametrize(("source", "after"), [("f((a, b))", "f(c)"), ("f(((a, b)))", "f(c)"), ("f(((a)))", "f(c)")])
def test_a_whole_argument_is_replaced_with_its_own_parentheses_alone(source: str, after: str) -> None:
    site = site_at(source, "f")
    call = next(n for n in walk(site.tree.module) if isinstance(n, cst.Call))
    assert apply_edits(source, [site.replace_whole(call.args[0].value, cst.Name("c"))]) == after
    assert apply_edits(source, [site.replace(call, call.with_changes(func=cst.Name("g")))]) == source.replace("f", "g")


def test_an_edit_knows_the_node_that_it_replaces() -> None:
    span = Span("m.py", 1, 1, 1, 8)
    site = Site(Finding("ONX101", "rule", Severity.ERROR, "", span), Page("m.py", "f(a, b)\n"))
    call = site.at_span(cst.Call)
    assert call is not None
    new = call.with_changes(args=[*call.args, cst.Arg(cst.Name("c"))])
    assert site.replace(call, new).node == ((1, 1), (1, 8))
