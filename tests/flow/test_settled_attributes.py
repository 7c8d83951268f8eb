"""What a script does to a model before it exports it: attributes it sets, modules it replaces."""

from __future__ import annotations

import pytest
from analysing import running, told

from onnxlint.flow.values.domain import Instance

SOURCE = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.deployed = False
    def deploy(self):
        self.deployed = True
        return self
    def restore(self):
        self.deployed = False
    def forward(self, x):
        if self.deployed:
            return x
        return x if x.sum() > 0 else -x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
    def forward(self, x):
        y = self.head(x)
        return y if y.max() > 1 else -y

def replace(module, old, new):
    model = module
    if isinstance(module, old):
        model = new()
    else:
        for name, child in module.named_children():
            replace(child, old, new)
    return model

def main(args):
    net = Net()
    {script}
    torch.onnx.export(net, (torch.rand(1, 4),), "net.onnx", dynamo=False)
"""
SCRIPTS = {
    "nothing": ("pass", "sure"),
    "a method of a part": ("net.head.deploy()", "silent"),
    "a method and its opposite": ("net.head.deploy()\n    net.head.restore()", "sure"),
    "an attribute of each module of a class": (
        "for m in net.modules():\n        if isinstance(m, Head):\n            m.deployed = True",
        "doubted",
    ),
    "a part that a class of the script holds": (
        """part = net.head
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net
            self.head = part.deploy()
        def forward(self, x):
            return self.head(self.net(x))
    net = Wrapped()""",
        "silent",
    ),
    "parts replaced": ("net.head.deploy()\n    net = replace(net, nn.SiLU, nn.ReLU)", "silent"),
    "parts of a class of the project replaced": ("net = replace(net, Head, nn.ReLU)", "sure"),
}


@pytest.mark.parametrize(("script", "expected"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_what_the_script_does_before_the_export(script: str, expected: str) -> None:
    lines = told(SOURCE.replace("{script}", script))
    doubts = [line.endswith("?") for line in lines if "x.sum()" in line]
    assert doubts == {"sure": [False], "doubted": [True], "silent": []}[expected]
    assert any("y.max()" in line for line in lines)


def test_a_forward_that_a_script_runs_before_the_export_is_still_looked_at() -> None:
    source = SOURCE.replace("{script}", "net(torch.rand(1, 4))\n    net = torch.jit.script(net)")
    assert any("x.sum()" in line for line in told(source))


def test_what_a_script_sets_after_its_export_comes_too_late_for_that() -> None:
    source = SOURCE.replace("{script}", "pass") + "    net.head.deployed = True\n"
    assert any("x.sum()" in line for line in told(source))


DELETED = """
class Plain(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Traced(nn.Module):
    def forward(self, x):
        return x.abs()

class Net(nn.Module):
    def __init__(self, deep=False):
        super().__init__()
        self.deep = deep
        if self.deep:
            self.head = Plain()

class ForExport(Net):
    def __init__(self, deep=False):
        super().__init__(deep)
        if self.deep:
            {deleted}
            self.head = Traced()
    def forward(self, x):
        return self.head(x)

def main():
    torch.onnx.export(ForExport(), (torch.rand(1, 4),), "net.onnx", dynamo=False)
"""


@pytest.mark.parametrize(
    ("deleted", "runs"), [("del self.head", "Traced"), ("del self.tail", "Plain"), ("pass", "Plain")]
)
def test_what_an_arm_puts_in_the_place_of_what_it_deletes(deleted: str, runs: str) -> None:
    engine, info = running(DELETED.format(deleted=deleted))
    head = engine.default_instance(info.classes["ForExport"]).attrs["head"]
    assert isinstance(head, Instance)
    assert head.object.cls.name == runs
