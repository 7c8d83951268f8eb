"""A graph made ready to look at: which nodes are marked, what stands around them, and what a script exports."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

from onnxlint.probes.common.userspace import relative
from onnxlint.probes.proof.graph_view import MARK, around, exported, marked

ROOT = str(Path(__file__).parent)
HERE = relative(__file__, ROOT)


class Chain(nn.Module):
    def forward(self, x):
        for _ in range(6):
            x = torch.sin(x)
        x = torch.relu(x)  # at: relu
        for _ in range(6):
            x = torch.cos(x)
        return x.sum(1) / float(x.shape[1])


class Choice(nn.Module):
    def forward(self, x):
        y = torch.sin(x)
        return torch.cond(
            x.sum() > 0,
            lambda x: torch.tanh(x) + y,
            lambda x: torch.sigmoid(x) + y,
            (x,),
        )


def line(model: type[nn.Module], mark: str) -> int:
    lines, first = inspect.getsourcelines(model)
    return first + next(k for k, text in enumerate(lines) if mark in text)


def made(model: nn.Module) -> onnx.ModelProto:
    """What dynamo makes of a model."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return torch.onnx.export(model.eval(), (torch.rand(2, 5),), dynamo=True, verbose=False).model_proto


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that dynamo exported."""
    path = tmp_path_factory.mktemp("view") / "chain.onnx"
    onnx.save(made(Chain()), path)
    return path


@pytest.mark.slow
def test_the_part_around_a_line_is_a_graph_of_its_own(chain: Path) -> None:
    model, here = onnx.load(chain), line(Chain, "# at: relu")
    (name,) = marked(model, {(HERE, here)}, (), ROOT)
    assert name.startswith(f"{MARK}{HERE}:{here} ")
    part = around(model, [name], steps=2)
    assert [node.op_type for node in part.graph.node] == ["Sin", "Sin", "Relu", "Cos", "Cos"]
    assert len(part.graph.input) == len(part.graph.output) == 1
    onnx.checker.check_model(part)


@pytest.mark.slow
def test_a_node_by_its_name_and_none_that_is_there(chain: Path) -> None:
    model = onnx.load(chain)
    wanted = next(node.name for node in model.graph.node if node.op_type == "Relu")
    assert marked(model, (), [wanted], ROOT) == [MARK + wanted]
    assert marked(model, {(HERE, 1)}, ["nothing"], ROOT) == []


@pytest.mark.slow
def test_a_node_with_arms_has_what_they_read_around_it() -> None:
    model = made(Choice())
    (choice,) = (node for node in model.graph.node if node.op_type == "If")
    nodes = marked(model, (), [choice.name], ROOT)
    part = around(model, nodes, steps=1)
    assert {node.op_type for node in part.graph.node} >= {"If", "Sin"}, "its arms read what is computed outside"
    onnx.checker.check_model(part)


def test_a_line_of_an_arm_marks_the_node_that_holds_it(tmp_path: Path) -> None:
    inner = onnx.helper.make_node("Relu", ["x"], ["y"], "inner")
    inner.doc_string = f"{tmp_path}/arm.py(3): forward"
    arm = onnx.helper.make_graph([inner], "arm", [], [onnx.helper.make_empty_tensor_value_info("y")])
    outer = onnx.helper.make_node("If", ["c"], ["z"], "outer", then_branch=arm, else_branch=arm)
    model = onnx.helper.make_model(onnx.helper.make_graph([outer], "g", [], []))
    assert marked(model, {("arm.py", 3)}, (), str(tmp_path)) == [f"{MARK}arm.py:3 outer"]


def test_weights_that_nothing_shown_reads_are_left_out() -> None:
    floats = onnx.TensorProto.FLOAT
    x, y = (onnx.helper.make_tensor_value_info(name, floats, [1]) for name in "xy")
    near, far = (onnx.helper.make_tensor(name, floats, [1], [2.0]) for name in ("near", "far"))
    nodes = [
        onnx.helper.make_node("Add", ["x", "far"], ["a"], "first"),
        onnx.helper.make_node("Relu", ["a"], ["b"], "between"),
        onnx.helper.make_node("Mul", ["b", "near"], ["y"], "last"),
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y], [near, far]))
    part = around(model, ["last"], steps=1).graph
    assert [node.name for node in part.node] == ["between", "last"]
    assert [tensor.name for tensor in part.initializer] == ["near"]
    assert ([value.name for value in part.input], [value.name for value in part.output]) == (["a"], ["y"])


SCRIPT = """
import sys, torch
class Net(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)
for model in (torch.nn.ReLU(), Net()):
    torch.onnx.export(model, (torch.ones(2),), sys.argv[0] + ".onnx", dynamo=False)
sys.exit(1)
"""


@pytest.mark.slow
def test_the_last_file_that_a_script_exports_has_the_lines_of_its_nodes(tmp_path: Path) -> None:
    script = tmp_path / "export.py"
    script.write_text(SCRIPT)
    model = exported(script)
    assert model is not None
    assert marked(model, {("export.py", 5)}, (), str(tmp_path)) == [f"{MARK}export.py:5 /Tanh"]
    script.write_text("print('nothing')")
    assert exported(script) is None


@pytest.mark.slow
def test_one_line_of_json_tells_what_was_made_or_what_is_wrong(chain: Path, tmp_path: Path) -> None:
    def told(source: Path, *more: str) -> dict[str, object]:
        command = [sys.executable, "-m", "onnxlint.probes.proof.graph_view", str(source), str(tmp_path / "out.onnx")]
        return json.loads(subprocess.run([*command, *more], cwd=ROOT, capture_output=True, check=True).stdout)

    told_of = told(chain, "--place", f"{HERE}:{line(Chain, '# at: relu')}")
    assert (len(told_of["nodes"]), told_of["shown"]) == (1, 7)
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 7
    whole = told(chain, "--place", f"{HERE}:{line(Chain, '# at: relu')}", "--whole")
    assert whole["shown"] == whole["all"] == told_of["all"]
    script = tmp_path / "broken.py"
    script.write_text("raise ValueError('not\\n today')")
    assert told(script) == {"fault": f"{script}: ValueError: not today"}
    script.write_text("")
    assert "exports no file" in str(told(script)["fault"])
