"""What a rule is: its handlers, the operators that it watches, and the example of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from onnxlint.base.catalogue import load_catalogue, read_rule, watched
from onnxlint.base.records import Finding, Fix, Safety
from onnxlint.config.settings import Settings
from onnxlint.flow.state.observations import Branch, Call, ClockRead
from onnxlint.rules.engine import registry
from onnxlint.rules.engine import rule as rule_module
from onnxlint.rules.engine.rule import Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.run.pipeline import run_check

ROOT = Path(__file__).resolve().parents[3]
MODEL = """\
import torch
from torch import nn


class M(nn.Module):
    def forward(self, x):
        y = torch.std(x)  # a function
        z = x.std(dim=1)
        return y + z.mean()
"""


def classes(*codes: str) -> list[type[Rule]]:
    """The classes in some Python."""
    rules: list[type[Rule]] = []
    for code in codes:
        names: dict[str, Any] = {**vars(rule_module), "Call": Call}
        exec(code, names)
        rules.append(names["SomeName"])
    return rules


def examples() -> list[type[Rule]]:
    """The classes in CONTRIBUTING.md, as they are written there."""
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return classes(*(textwrap.dedent(block) for block in blocks if "(Rule)" in block))


def findings(rule: type[Rule], folder: Path, monkeypatch: pytest.MonkeyPatch, *operators: str) -> list[Finding]:
    """What one rule says of the model, under the contract of another."""
    (folder / "model.py").write_text(MODEL)
    monkeypatch.setattr(rule, "code", "ONX404")
    catalogue = load_catalogue()
    watching = {**catalogue, "ONX404": replace(catalogue["ONX404"], operators=operators or ("torch.std",), fix=None)}
    monkeypatch.setattr("onnxlint.run.static_pass.load_catalogue", lambda: watching)
    monkeypatch.setattr("onnxlint.rules.engine.look_through.rules_of", lambda codes: ({"ONX404": rule()}, []))
    return list(run_check([folder], Settings(root=folder, static_only=True, cache=False)).findings)


@pytest.mark.parametrize("number", [0, 1])
def test_the_examples_of_contributing_work_as_they_are_written(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(examples()[number], tmp_path, monkeypatch)
    assert [(f.span.line, f.message) for f in found] == [
        (7, "`std` stands here: `torch.std(x)`"),
        (8, "`std` stands here: `x.std(dim=1)`"),
    ]


def test_the_visitor_on_the_page_about_own_rules_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / ".docs" / "pages" / "own-rules.md").read_text()
    (visitor,) = re.findall(r"```python\n(def visit_.*?)```", text, re.DOTALL)
    (rule,) = classes("class SomeName(Rule):\n    code = 'ONX499'\n\n" + textwrap.indent(visitor, "    "))
    assert [f.message.partition(": ")[2] for f in findings(rule, tmp_path, monkeypatch)] == [
        "`torch.std(x)`",
        "`x.std(dim=1)`",
    ]


def test_a_handler_is_given_the_node_that_was_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes: list[cst.CSTNode] = []

    class Calls(Rule):
        code = "ONX499"

        def on_call(self, node: cst.CSTNode, call: Call) -> Objections:
            nodes.append(node)
            yield Objection("m", "a")

    findings(Calls, tmp_path, monkeypatch)
    assert [cst.Module([]).code_for_node(node) for node in nodes] == ["torch.std(x)", "x.std(dim=1)"]


def test_a_method_for_calls_gets_each_kind_of_call_but_those_of_other_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Calls(Rule):
        code = "ONX499"

        def on_call(self, node: cst.CSTNode, call: Call) -> Objections:
            yield Objection(f"call of {call.op}", "a")

        def on_clock_read(self, node: cst.CSTNode, read: ClockRead) -> Objections:
            yield Objection(f"read of {read.op}", "a")

    body = "y = torch.std(x) + time.time()  # a function\n        y = y + torch.rand_like(x)"
    monkeypatch.setattr(f"{__name__}.MODEL", "import time\n" + MODEL.replace("y = torch.std(x)  # a function", body))
    assert [f.message for f in findings(Calls, tmp_path, monkeypatch)] == [
        "call of torch.std",
        "read of time.time()",
        "call of torch.rand_like",
        "call of torch.std",
    ]


def test_operators_are_seen_by_their_sign_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Calls(Rule):
        code = "ONX499"

        def on_call(self, node: cst.CSTNode, call: Call) -> Objections:
            yield Objection(f"{call.op}: {call.text}", "a")

    body = (
        "y = (x @ x.transpose(0, 1)) + x\n        y += torch.add(x, 1)\n        n = len(y.shape) + 1\n        y = y * n"
    )
    monkeypatch.setattr(f"{__name__}.MODEL", MODEL.replace("y = torch.std(x)  # a function", body))
    assert [f.message for f in findings(Calls, tmp_path, monkeypatch, "torch.matmul", "torch.add")] == [
        "torch.add: (x @ x.transpose(0, 1)) + x",
        "torch.matmul: x @ x.transpose(0, 1)",
        "torch.add: torch.add(x, 1)",
        "torch.add: y + z.mean()",
    ]
    assert [f.message for f in findings(Calls, tmp_path, monkeypatch, "torch.add_", "torch.mul")] == [
        "torch.add_: y += torch.add(x, 1)",
        "torch.mul: y * n",
    ]


def test_layers_are_seen_where_they_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Calls(Rule):
        code = "ONX499"

        def on_call(self, node: cst.CSTNode, call: Call) -> Objections:
            yield Objection(f"{call.op}: {call.text}", "a")

    body = (
        "y = nn.ReLU()(x)\n        y = self.act(nn.GELU()(y))\n        z = self.both(y)\n        return y + z\n\n"
        "    def __init__(self):\n        super().__init__()\n        self.act = nn.ReLU()\n"
        "        self.both = nn.Sequential(nn.Dropout(), nn.ReLU())\n"
    )
    monkeypatch.setattr(f"{__name__}.MODEL", MODEL.partition("y = ")[0] + body)
    assert [f.message for f in findings(Calls, tmp_path, monkeypatch, "torch.nn.ReLU", "torch.relu")] == [
        "torch.nn.ReLU: nn.ReLU()(x)",
        "torch.nn.ReLU: self.act(nn.GELU()(y))",
        "torch.nn.ReLU: self.both(y)",
    ]


def test_nothing_is_watched_that_no_rule_asks_for() -> None:
    assert watched(load_catalogue()) == frozenset()
    assert set(registry.all_rules()) <= set(load_catalogue())


def test_operators_stand_in_the_front_matter_of_a_contract(tmp_path: Path) -> None:
    contract = next((ROOT / "rules").glob("ONX404-*.md"))
    text = contract.read_text()
    (tmp_path / contract.name).write_text(text.replace("\n---\n", "\noperators: torch.std, torch.var\n---\n", 1))
    assert watched({"ONX404": read_rule(tmp_path / contract.name)}) == {"torch.std", "torch.var"}


def declared(**names: Any) -> None:
    type("Odd", (Rule,), {"code": "ONX499", "__module__": __name__, **names})


def fix(self: Rule, site: Site) -> Fix | None:
    return None


def on_branch(self: Rule, node: cst.CSTNode, seen: Branch) -> Objections:
    yield from ()


def visit_nothing(self: Rule, node: cst.CSTNode) -> None:
    pass


def on_anything(self: Rule, node: cst.CSTNode, seen: int) -> Objections:
    yield from ()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"fix": fix}, "needs a `safety` if and only if it has a `fix`"),
        ({"safety": Safety.SAFE}, "needs a `safety` if and only if it has a `fix`"),
        ({"fix": fix, "safety": Safety.SAFE, "changes_output": True}, "it is not safe"),
        ({"on_anything": on_anything}, "no kind of observation"),
        ({"visit_Fork": visit_nothing}, "visits no kind of node"),
        ({"leave_If": visit_nothing}, "visits no kind of node"),
        ({"on_branch": on_branch, "on_fork": on_branch}, "two methods for Branch"),
    ],
)
def test_a_class_that_contradicts_itself_is_refused(names: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        declared(**names)


# All but the engine, which aligns libcst's trees with those of `ast`, and text with both.
RULES = sorted(path for folder in ("", "helpers") for path in (ROOT / "onnxlint" / "rules" / folder).glob("*.py"))


@pytest.mark.parametrize("path", RULES, ids=[path.stem for path in RULES])
def test_a_rule_and_a_helper_of_rules_work_on_libcst_nodes_alone(path: Path) -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not imported & {"ast", "tokenize", "re"}
