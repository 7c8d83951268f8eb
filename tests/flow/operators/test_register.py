"""The register is full: every operator that the modules beside it handle is there, under the name that torch has."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import onnxlint.flow.operators as operators
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.tables import NAMES
from onnxlint.flow.tables.operator_table import OpTable

FOLDER = Path(operators.__file__).parent


def registered() -> list[tuple[str, str]]:
    """The operators in the text of each module."""
    calls = [
        (path.stem, node)
        for path in sorted(FOLDER.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "handles"
    ]
    return [(module, op) for module, node in calls for op in named(node.args[0])]


def named(argument: ast.expr) -> Sequence[str]:
    """The operators that an argument of `handles` names, in a text or as a list of names.toml."""
    match argument:
        case ast.Starred(ast.Subscript(ast.Name("NAMES"), ast.Constant(str(names)))):
            return NAMES[names]
    words: list[str] = ast.literal_eval(argument).split()
    return words


def test_every_operator_that_a_module_handles_is_in_the_register_and_handled_there() -> None:
    assert len(registered()) > 300
    wanted = {op: f"onnxlint.flow.operators.{module}" for module, op in registered()}
    assert {op: handler.__module__ for op, handler in HANDLERS.items()} == wanted


def test_no_operator_is_handled_twice() -> None:
    names = [op for _, op in registered()]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_operators_that_are_registered_are_operators_of_torch() -> None:
    """A name that torch does not have is a slip of the pen: no call ever comes to its handler."""
    names = {name.rpartition(".")[2] for name in OpTable.load("2.13").names()}
    unknown = {op for op in HANDLERS if op not in names and f"{op}_" not in names}
    assert {op for op in unknown if not op.endswith("Tensor")} <= {"asarray", "where1", "numel_"}
