"""What a script calls on a model that is not known here, before it exports it."""

from __future__ import annotations

import pytest
from analysing import PRELUDE, project_of, told

MODEL = (
    PRELUDE
    + """
class Head(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.deployed = False
    def deploy(self):
        self.deployed = True
        return self
    def restore(self, strict):
        self.deployed = True
    def count(self):
        return 0
    def forward(self, x):
        x = self.linear(x)
        if self.deployed:
            return x
        return x if x.sum() > 0 else -x
"""
)
SCRIPT = """
import sys
import torch
import registry

def main(name):
    model = registry.create(name)
    model.{call}
    torch.onnx.export(model, torch.ones(1, 4), "model.onnx", dynamo=True, dynamic_shapes=({{0: "b"}},))
"""


@pytest.mark.parametrize(
    ("call", "runs"), [("deploy()", False), ("count()", True), ("restore(False)", True), ("eval()", True)]
)
def test_the_arm_for_training_and(call: str, runs: bool) -> None:
    observed = told(project_of({"head.py": MODEL, "export.py": SCRIPT.format(call=call)}))
    assert ("Branch data: x.sum() > 0" in observed) is runs


@pytest.mark.parametrize(
    ("statement", "runs"),
    [
        ("model.deployed = True", False),
        ("model.deployed = False", True),
        ("model.other = True", True),  # which it has not
        ("registry.deployed = True", True),  # of something else
        ("model.deployed = name", True),
    ],
)
def test_the_arm_for_training_and_a_flag(statement: str, runs: bool) -> None:
    script = SCRIPT.format(call="eval()").replace("    torch.onnx", f"    {statement}\n    torch.onnx")
    observed = told(project_of({"head.py": MODEL, "export.py": script}))
    assert ("Branch data: x.sum() > 0" in observed) is runs


@pytest.mark.parametrize(("other", "runs"), [("True", False), ("False", True)])
def test_a_flag_that_two_scripts_set_otherwise_is_either(other: str, runs: bool) -> None:
    lines = SCRIPT.format(call="eval()").partition("    torch.onnx")
    scripts = [f"{lines[0]}    model.deployed = {on}\n{lines[1]}{lines[2]}" for on in ("True", other)]
    files = {"head.py": MODEL, "export.py": scripts[0], "other.py": scripts[1]}
    assert ("Branch data: x.sum() > 0" in told(project_of(files))) is runs


WHOLE = (
    PRELUDE
    + """
class Head(nn.Module):
    def __init__(self, decode=True):
        super().__init__()
        self.decode = decode
    def forward(self, x):
        if self.decode:
            return x if x.sum() > 0 else -x
        return x

class Detector(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head = Head(**config)
    def forward(self, x):
        return self.head(x)
"""
)
TO_FILE = """
import torch
from detector import Detector

def main(config):
    model = Detector(config)
    model.head.decode = {on}
    torch.onnx.export(model, torch.ones(1, 4), "model.onnx", dynamo=True, dynamic_shapes=({{0: "b"}},))
"""


@pytest.mark.parametrize("on", [True, False])
def test_a_flag_of_a_part_that_two_scripts_set_alike_decides_an_arm_in_both(on: bool) -> None:
    files = {"detector.py": WHOLE, "a.py": TO_FILE.format(on=False), "b.py": TO_FILE.format(on=on)}
    assert ("Branch data: x.sum() > 0" in told(project_of(files))) is on


PUT = (
    PRELUDE
    + """
class Head(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.linear = nn.Linear(size, size)
    def deploy(self):
        self.forward = self.infer
    def forward(self, x):
        return x if x.sum() > 0 else -x
    def infer(self, x):
        return x if self.linear(x).mean() > 0 else x + 1
"""
)


@pytest.mark.parametrize(
    ("call", "runs", "not_run"),
    [
        ("deploy()", "self.linear(x).mean() > 0", "x.sum() > 0"),
        ("forward = model.infer", "self.linear(x).mean() > 0", "x.sum() > 0"),
        ("eval()", "x.sum() > 0", "self.linear(x).mean() > 0"),
        ("forward = model.infer.half", "x.sum() > 0", "self.linear(x).mean() > 0"),
    ],
)
def test_a_method_that_is_put_in_the_place_of_forward(call: str, runs: str, not_run: str) -> None:
    observed = told(project_of({"head.py": PUT, "export.py": SCRIPT.format(call=call)}))
    assert f"Branch data: {runs}" in observed
    assert f"Branch data: {not_run}" not in observed


def test_what_the_module_level_hands_to_a_function_that_exports_is_what_is_exported() -> None:
    source = """
class Head(nn.Module):
    def __init__(self, plain=False):
        super().__init__()
        self.plain = plain
    def forward(self, x):
        if self.plain:
            return x if x.mean() > 0 else -x
        return x if x.sum() > 0 else -x
def export_head(model):
    traced = torch.jit.trace(model, torch.ones(1, 4))
    torch.onnx.export(traced, torch.ones(1, 4), "model.onnx", dynamo=False)
if __name__ == "__main__":
    export_head({"head": Head}["head"](True))
"""
    observed = told(PRELUDE + source)
    assert "Branch data: x.mean() > 0" in observed
    assert "Branch data: x.sum() > 0" not in observed


def test_a_method_that_another_export_does_not_put_there_is_not_all_that_runs() -> None:
    script, other = SCRIPT.format(call="forward = model.infer"), SCRIPT.format(call="eval()")
    assert "Branch data: x.sum() > 0" in told(project_of({"head.py": PUT, "export.py": script, "other.py": other}))


@pytest.mark.parametrize("after", ["self.forward = own", "pass"])
def test_a_forward_that_is_put_back_after_the_export_is_not_what_was_exported(after: str) -> None:
    source = f"""
class M(nn.Module):
    def forward(self, x, y):
        return x if y.sum() > 0 else -x
    def export(self):
        own = self.forward
        self.forward = self.infer
        torch.onnx.export(self.eval(), torch.zeros(2, 3), 'm.onnx')
        {after}
    def infer(self, x):
        return x if x.sum() > 0 else -x
"""
    assert [text for text in told(source) if text.startswith("Branch")] == ["Branch data: x.sum() > 0"]
