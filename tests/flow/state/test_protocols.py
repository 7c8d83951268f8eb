"""Protocols are small, transfer functions know the smallest of them, and the interpreter has what they ask for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from analysing import running

FLOW = Path(__file__).parents[3] / "onnxlint" / "flow"
MEMBERS = 12  # of a protocol
ALL_MEMBERS = 83  # of the interpreter, as all protocols together know it
OF_A_FRAME = 21


def test_a_protocol_is_small() -> None:
    tree = ast.parse((FLOW / "state" / "protocols.py").read_text(encoding="utf-8"))
    sizes = {
        node.name: sum(isinstance(member, (ast.AnnAssign, ast.FunctionDef)) for member in node.body)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    assert sizes["Engine"] == 0
    assert sizes.pop("Running") <= OF_A_FRAME
    assert sum(sizes.values()) - sizes["Interleaved"] <= ALL_MEMBERS
    assert {name: size for name, size in sizes.items() if size > MEMBERS} == {}


@pytest.mark.parametrize(
    ("folder", "known"),
    [
        ("operators", {"InContext", "Observing", "Operating", "Running"}),
        ("lowering", {"InContext", "Observing", "Operating", "Running", "Lowering"}),
    ],
)
def test_operators_and_their_lowering_know_the_smallest_protocols(folder: str, known: set[str]) -> None:
    names = [line for path in (FLOW / folder).glob("*.py") for line in path.read_text().split("\n")]
    imported = {
        n.strip() for line in names if "state.protocols import" in line for n in line.split("import")[1].split(",")
    }
    assert imported <= known


def test_the_interpreter_has_every_member_that_a_protocol_names() -> None:
    """A protocol is a promise: what one of them names is there, on the interpreter or on the frame that runs."""
    tree = ast.parse((FLOW / "state" / "protocols.py").read_text(encoding="utf-8"))
    wanted = {
        member.target.id if isinstance(member, ast.AnnAssign) else member.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in ("InContext", "Observing", "Operating", "Lowering")
        for member in node.body
        if isinstance(member, ast.FunctionDef)
        or (isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name))
    }
    engine, _ = running("pass")
    assert len(wanted) > 20
    assert {name for name in wanted if not hasattr(engine, name)} == set()


def test_no_member_of_the_interpreter_is_the_stub_of_a_protocol() -> None:
    """A class that inherits a protocol inherits its empty bodies, which would do nothing without a word."""
    engine, _ = running("pass")
    owners = {name: next(c for c in type(engine).__mro__ if name in vars(c)) for name in dir(type(engine))}
    stubs = {name for name, owner in owners.items() if getattr(owner, "_is_protocol", False)}
    assert {name for name in stubs if not name.startswith("_")} == set()
