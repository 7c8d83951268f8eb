"""Defaults of constructors: what a model does with them is what is exported, unless a call gives others."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import findings_of, project_of, told, written

from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values.domain import Instance

SOURCE = """
class M(nn.Module):
    def __init__(self, {parameters}):
        super().__init__()
        self.v = v
    def forward(self, x):
        if {test}:
            x = x if x.sum() > 0 else -x
        return x
"""
ARMS = {
    "a flag that is off": ("v=False", "self.v", True),
    "a flag that is on": ("v=True", "self.v", False),
    "the negation of one that is on": ("v=True", "not self.v", True),
    "another name": ("v='sin'", "self.v == 'cape'", True),
    "the name": ("v='sin'", "self.v == 'sin'", False),
    "a name of several": ("v='sin'", "self.v in ('cos', 'sin')", False),
    "none of several names": ("v='sin'", "self.v in ['cos', 'cape']", True),
    "a number for none": ("v=0", "self.v > 0", True),
    "nothing": ("v=None", "self.v is not None", True),
    "a flag and data": ("v=False", "self.v and x.max() > 1", True),
    "a flag or data": ("v=True", "self.v or x.max() > 1", False),
    "a size": ("v=4", "self.v > 8", False),
    "no default": ("v", "self.v", False),
}


@pytest.mark.parametrize(("parameters", "test", "doubted"), ARMS.values(), ids=ARMS.keys())
def test_the_arm_that_takes_another_setting(parameters: str, test: str, doubted: bool) -> None:
    source = SOURCE.format(parameters=parameters, test=test)
    assert [line.endswith("?") for line in told(source) if "x.sum()" in line] == [doubted]


CALLS = {
    "a call with another value": ("m = M(v=True)", False),
    "a call with the value of a variable": ("def build(args):\n    return M(args.v)", False),
    "a call with the default": ("m = M(v=False)", True),
    "a call with settings that nobody knows": ("def build(cfg):\n    return M(**cfg)", True),
    "the call of a derived class": ("class N(M):\n    pass\nm = N()", True),
}


@pytest.mark.parametrize(("call", "doubted"), CALLS.values(), ids=CALLS.keys())
def test_a_default_stands_until_a_call_gives_another_value(call: str, doubted: bool) -> None:
    source = SOURCE.format(parameters="v=False", test="self.v") + "\n" + call + "\n"
    assert {line.endswith("?") for line in told(source) if "x.sum()" in line} == {doubted}


BUILT = """
class Reads(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
class Fixed(nn.Module):
    def forward(self, x):
        return torch.ones(3)
class M(nn.Module):
    def __init__(self, variant="plain", n=2):
        super().__init__()
        if variant == "{variant}":
            self.inner = Reads()
        else:
            self.inner = Fixed()
        if n > 0:
            self.layers = nn.ModuleList([Reads() for _ in range(n)])
        else:
            self.layers = []
    def forward(self, x):
        {use}
        return x
"""


@pytest.mark.parametrize(("variant", "runs"), [("plain", True), ("other", False)])
def test_of_two_modules_the_one_that_the_default_chooses_runs(variant: str, runs: bool) -> None:
    source = BUILT.format(variant=variant, use="x = x if self.inner(x).max() > 1 else -x")
    assert ("Branch data: self.inner(x).max() > 1" in told(source)) is runs


def test_layers_are_kept_where_another_setting_leaves_an_empty_list() -> None:
    loop = "for layer in self.layers:\n            x = layer(x)"
    assert {code for code, *_ in findings_of(BUILT.format(variant="other", use=loop))} == {"ONX101"}


GETTERS = {
    "a getter of the project": "config('DEPLOY', default={default})",
    "the environment": "os.environ.get('DEPLOY', {default})",
    "an attribute that may be there": "getattr(SETTINGS, 'fused', {default})",
    "a dict from elsewhere": "SETTINGS.get('deploy', {default})",
}


@pytest.mark.parametrize("getter", GETTERS.values(), ids=GETTERS.keys())
@pytest.mark.parametrize("default", [True, False])
def test_a_setting_is_the_default_that_its_getter_is_given(getter: str, default: bool) -> None:
    source = f"""
import os
from elsewhere import load
SETTINGS = load()
class Config:
    def __call__(self, name, default=None):
        return SETTINGS[name] if name in SETTINGS else default
config = Config()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = {getter.format(default=default)}
    def forward(self, x):
        if self.v:
            x = x if x.sum() > 0 else -x
        return x
"""
    assert [line.endswith("?") for line in told(source) if "x.sum()" in line] == [not default]


def test_a_module_is_imported_by_a_name_that_a_default_is_part_of(tmp_path: Path) -> None:
    files = {
        "gates/__init__.py": "",
        "gates/small.py": "def gate(x):\n    return x if x.sum() > 0 else -x\n",
        "model.py": """
            import torch, importlib
            from elsewhere import config
            class M(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gate = getattr(importlib.import_module("gates." + config.get("GATE", "small")), "gate")
                def forward(self, x):
                    return self.gate(x)
        """,
    }
    assert "Branch data: x.sum() > 0" in told(written(files, tmp_path))


@pytest.mark.parametrize("name", ["onnx_export", "exporting", "dynamic_size"])
def test_the_default_of_a_flag_that_exports_turn_on_decides_nothing(name: str) -> None:
    source = (
        SOURCE.format(parameters="v=False", test="self.v")
        .replace("v=False", f"{name}=False")
        .replace("= v", f"= {name}")
    )
    assert [line.endswith("?") for line in told(source) if "x.sum()" in line] == [False]


PARTS = """
import torch.nn as nn

class Part(nn.Module):
    def __init__(self, config, width=4):
        super().__init__()
        self.config, self.width = config, width

class Whole(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.part = Part({arguments})
"""
CALLS = {
    "by position": ("config, config.width", True),
    "by name": ("width=config.width, config=config", True),
    "both": ("config, width=config.width", True),
    "a default": ("config", False),
    "another width": ("config, 8", False),
}


@pytest.mark.parametrize("whole_first", [False, True])
@pytest.mark.parametrize(("arguments", "equal"), CALLS.values(), ids=CALLS.keys())
def test_a_call_with_equal_arguments_builds_the_default_instance(
    arguments: str, equal: bool, whole_first: bool
) -> None:
    engine = Interpreter(project_of(PARTS.format(arguments=arguments)), OpTable.load())
    part, whole = (engine.project.modules[Path("/nowhere/model.py")].classes[n] for n in ("Part", "Whole"))
    objects = {cls: engine.default_instance(cls) for cls in ((whole, part) if whole_first else (part, whole))}
    held = objects[whole].attrs["part"]
    assert isinstance(held, Instance)
    assert (held.object is objects[part]) == equal
    assert part in engine.created
