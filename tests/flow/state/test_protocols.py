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
        ("python", {"InContext", "Defining", "Calling", "Resolving", "Recalling", "Running"}),
        ("exports", {"InContext", "Observing", "Defining", "Calling", "Exporting", "Recording", "Running"}),
    ],
)
def test_a_folder_knows_the_smallest_protocols(folder: str, known: set[str]) -> None:
    names = [line for path in (FLOW / folder).glob("*.py") for line in path.read_text().split("\n")]
    imported = {
        n.strip() for line in names if "state.protocols import" in line for n in line.split("import")[1].split(",")
    }
    assert imported <= known


def test_only_what_hands_a_call_on_to_any_handler_takes_the_whole_interpreter() -> None:
    takes = {
        f"{path.stem}.{node.name}"
        for path in FLOW.glob("*/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any(a.annotation and ast.unparse(a.annotation) == "Engine" for a in node.args.args)
    }
    assert takes == {
        "library_calls.library",
        "library_calls.torch_call",
        "method_calls.method",
        "method_calls._of_object",
    }


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
