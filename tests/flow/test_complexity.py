"""Functions of the dataflow are short in branches: long chains of names are tables, long chains of cases functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FLOW = Path(__file__).parents[2] / "onnxlint" / "flow"
BRANCHES = 15  # McCabe's number, as ruff counts it
DECISIONS = 21  # with boolean operators, conditional expressions and the conditions of comprehensions

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case, ast.FunctionDef)


def branches(function: ast.FunctionDef) -> int:
    """McCabe's number: the function itself is one of the nodes that count."""
    return sum(isinstance(n, _BRANCHES) for n in ast.walk(function))


def decisions(function: ast.FunctionDef) -> int:
    """McCabe's number, with the branches within expressions."""
    count = branches(function)
    for n in ast.walk(function):
        if isinstance(n, ast.BoolOp):
            count += len(n.values) - 1
        elif isinstance(n, ast.comprehension):
            count += len(n.ifs)
        else:
            count += isinstance(n, ast.IfExp)
    return count


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted(FLOW.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(FLOW)}:{node.lineno} {node.name}", node


def parsed(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return node


def test_no_function_has_too_many_branches() -> None:
    counts = {name: branches(node) for name, node in functions()}
    assert len(counts) > 100
    assert {name: n for name, n in counts.items() if n > BRANCHES} == {}


def test_no_function_has_too_many_decisions() -> None:
    counts = {name: decisions(node) for name, node in functions()}
    assert {name: n for name, n in counts.items() if n > DECISIONS} == {}


@pytest.mark.parametrize(
    ("text", "by_branch", "by_decision"),
    [
        ("def f(): pass", 1, 1),
        ("def f(a):\n if a: pass\n elif a: pass\n else: pass", 3, 3),
        ("def f(a, b):\n while a and b and not a: pass", 2, 4),
        ("def f(a):\n return [x if x else 0 for x in a if x if a]", 1, 4),
        ("def f(a):\n def g():\n  for x in a: pass", 3, 3),
    ],
)
def test_what_is_counted(text: str, by_branch: int, by_decision: int) -> None:
    function = parsed(text)
    assert (branches(function), decisions(function)) == (by_branch, by_decision)


def stubs(tree: ast.AST) -> Iterator[str]:
    """Methods without a body, of classes that are no protocol: a sibling or a subclass would have to fill them in."""
    for cls in ast.walk(tree):
        if isinstance(cls, ast.ClassDef) and "Protocol" not in map(ast.unparse, cls.bases):
            for method in cls.body:
                if isinstance(method, ast.FunctionDef) and any(map(_is_left_out, method.body)):
                    yield f"{cls.name}.{method.name}"


def _is_left_out(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise) and statement.exc is not None:
        return "NotImplementedError" in ast.unparse(statement.exc)
    return isinstance(statement, ast.Expr) and ast.unparse(statement) == "..."


def test_no_class_leaves_a_method_for_another_to_fill_in() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FLOW.rglob("*.py")}
    assert {path.stem: names for path, tree in trees.items() if (names := [*stubs(tree)])} == {}


def test_the_test_sees_a_method_without_a_body() -> None:
    source = """
class Base:
    def a(self): ...
    def b(self): raise NotImplementedError
    def c(self):
        "What c is."
        raise NotImplementedError("c")
    def d(self): return None
class Known(Protocol):
    def e(self): ...
"""
    assert [*stubs(ast.parse(source))] == ["Base.a", "Base.b", "Base.c"]


def test_no_attribute_of_the_interpreter_is_assigned_outside_of_it() -> None:
    for path in FLOW.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
                assert not ast.unparse(node.value).endswith("engine"), f"{path}:{node.lineno}"
