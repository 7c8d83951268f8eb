"""What a function with export calls binds, casts and loads: told by line, as far as it is certain to have run."""

from __future__ import annotations

import ast
import textwrap

import pytest
from analysing import project_of

from onnxlint.flow.exports.export_scopes import CallScope, bound_names, dicts_by_keys

HEAD = "import numpy as np\nimport torch\nfrom torch import onnx as ox\n"


def scope(body: str) -> CallScope:
    """The function whose body begins in line 5 of a file."""
    text = HEAD + "def main(m, flag):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    (info,) = project_of(text).modules.values()
    function = info.file.tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    return CallScope(info, function)


def call_of(within: CallScope, name: str) -> ast.Call:
    calls = [n for n in ast.walk(within.scope) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith(name)]
    assert len(calls) == 1
    return calls[0]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("np.random.rand", "numpy.random.rand"),
        ("ox.export", "torch.onnx.export"),
        ("inner.export", "torch.onnx.export"),
        ("m.export", "m.export"),
        ("m().export", ""),
    ],
)
def test_the_full_name_of(expression: str, name: str) -> None:
    within = scope("import torch.onnx as inner\nreturn 0")
    assert within.name_of(ast.parse(expression, mode="eval").body) == name


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("torch.float16", "float16"),
        ("np.half", "float16"),
        ("'float32'", "float32"),
        ("torch.double", "float64"),
        ("torch.int64", None),
        ("m.float16", None),
    ],
)
def test_the_dtype_of(expression: str, dtype: str | None) -> None:
    assert scope("return 0").dtype(ast.parse(expression, mode="eval").body) == dtype


def test_the_last_binding_above_a_line() -> None:
    within = scope("x = 1\nx = 2\nx, y = f()\nfor x in y: pass\nz: int = 3")
    bound = [within.last_bound("x", line) for line in (5, 6, 7, 8, 9)]
    assert bound[0] is None
    assert [None if b is None or b[1] is None else ast.unparse(b[1]) for b in bound] == [None, "1", "2", None, None]
    assert [b and b[0] for b in bound] == [None, 5, 6, 7, 8]
    annotated = within.last_bound("z", 10)
    assert annotated is not None
    assert annotated[1] is not None


def test_a_function_inside_binds_nothing_here() -> None:
    assert scope("def inner():\n    x = 1\nreturn inner").last_bound("x", 99) is None


@pytest.mark.parametrize(
    ("statement", "precision"),
    [
        ("m.half()", "float16"),
        ("m.to(torch.bfloat16)", "bfloat16"),
        ("m.to('cpu', dtype=torch.float64).eval()", "float64"),
        ("m.to('cpu')", None),
        ("n = m.half()", None),
    ],
)
def test_a_cast_that_stands_alone(statement: str, precision: str | None) -> None:
    within = scope(f"{statement}\nox.export(m)")
    assert within.cast("m", 0, 6) == precision
    assert within.cast("m", 6, 99) is None


def test_the_arms_that_a_line_stands_in() -> None:
    within = scope("if flag:\n    for i in m:\n        f(i)\n    g()\nelse:\n    h()")
    assert list(within.blocks_around(7)) == [(7, 7), (6, 8)]
    assert list(within.blocks_around(8)) == [(6, 8)]
    assert list(within.blocks_around(10)) == [(10, 10)]
    assert list(within.blocks_around(5)) == []


def test_the_way_to_a_call_ends_where_a_block_is_left() -> None:
    within = scope("a()\nif flag:\n    b()\n    ox.export(m)\n    c()\nd()")
    assert [index for _, index in within.way_to(call_of(within, "export"))] == [1, 1]
    left = scope("if flag:\n    ox.export(m)\n    return\nd()")
    assert len(left.way_to(call_of(left, "export"))) == 1


def test_loads_and_exports_in_a_statement() -> None:
    within = scope("m.load_state_dict(torch.load('m.pt'))\nox.export(m)\nm.eval()")
    names = [[ast.unparse(c.func) for c in within.loads_in(s)] for s in within.scope.body]
    assert names == [["m.load_state_dict"], ["ox.export"], []]


def test_calls_for_a_version_and_calls_beside_dynamic_ones() -> None:
    within = scope("if torch.__version__ > '2.5':\n    ox.export(m)\nelse:\n    f(m)\ng()")
    assert id(call_of(within, "export")) in within.for_versions
    assert id(call_of(within, "g")) not in within.for_versions
    choice = scope("if flag.dynamic:\n    ox.export(m, dynamic_axes={})\nelse:\n    f(m)")
    assert id(call_of(choice, "f")) in choice.sized_on_request
    assert id(call_of(choice, "export")) not in choice.sized_on_request


def test_names_in_a_target_and_dicts_of_a_file() -> None:
    (statement,) = ast.parse("(a, [b.c, *d]), e[0] = x").body
    assert isinstance(statement, ast.Assign)
    assert sorted(bound_names(statement.targets[0])) == ["a", "b.c", "d"]
    tree = ast.parse("axes = {'x': {0: 'b'}, 'y': [1]}\nother = {'x': 1}\nagain = {'x': (), 'y': ()}\n")
    assert [line for line, _ in dicts_by_keys(tree)["x", "y"]] == [1, 3]
