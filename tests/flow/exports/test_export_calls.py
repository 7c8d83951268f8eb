"""Calls of torch.onnx.export: what the observations say of the model, its mode, its inputs and its axes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from analysing import PRELUDE, facts_of, project_of, written

from onnxlint.flow.state.observations import Branch, ExportCall

MODELS = """
class M(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.conv = nn.Conv2d(3, size, 1)
    def forward(self, x, mask=None):
        return self.conv(x)
def build():
    model = M()
    model.eval()
    return model
def load(flag):
    model = M()
    if flag:
        model = build()
    return model
"""


def export(body: str, before: str = "") -> ExportCall:
    """The one export call of a function with this body."""
    source = PRELUDE + MODELS + before + "def main():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    (observation,) = [f for f in facts_of(project_of(source)) if isinstance(f, ExportCall)]
    return observation


IMAGE = "torch.randn(1, 3, 8, 8)"
MODES = {
    "a model as it was made": (f"torch.onnx.export(M(), {IMAGE}, 'm.onnx')", "train"),
    "a model in eval mode": (f"torch.onnx.export(M().eval(), {IMAGE}, 'm.onnx')", "eval"),
    "a model put in eval mode before": (f"m = M()\nm.eval()\ntorch.onnx.export(m, {IMAGE}, 'm.onnx')", "eval"),
    "train(False)": (f"m = M()\nm.train(False)\ntorch.onnx.export(m, {IMAGE}, 'm.onnx')", "eval"),
    "train mode after eval mode": (f"m = M()\nm.eval()\nm.train()\ntorch.onnx.export(m, {IMAGE}, 'm.onnx')", "train"),
    "a model that a function built": (f"torch.onnx.export(build(), {IMAGE}, 'm.onnx')", "eval"),
    "a model moved to a device": (f"torch.onnx.export(M().to('cpu').eval(), {IMAGE}, 'm.onnx')", "eval"),
    "a model of the project from a checkpoint": (
        f"torch.onnx.export(M.load_from_checkpoint('m'), {IMAGE}, 'm.onnx')",
        None,
    ),
    "a model of the project from a hub": (f"torch.onnx.export(M.from_pretrained('m'), {IMAGE}, 'm.onnx')", "eval"),
    "a model of a file": (f"torch.onnx.export(torch.load('m.pt'), {IMAGE}, 'm.onnx')", None),
}


PARTS = """
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = M()
    def export(self):
        torch.onnx.export(self.part, torch.randn(1, 3, 8, 8), 'm.onnx')
"""


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ("torch.onnx.export(Whole().eval().part, x, 'm.onnx')", "eval"),
        ("torch.onnx.export(Whole().part, x, 'm.onnx')", "train"),
        ("whole = Whole().eval()\nwhole.part.train()\ntorch.onnx.export(whole, x, 'm.onnx')", "eval"),
    ],
)
def test_the_mode_of_a_model_is_that_of_its_parts(body: str, mode: str) -> None:
    assert export(body, PARTS.partition("    def export")[0]).mode == mode


def test_in_a_method_that_exports_a_part_the_mode_is_not_known() -> None:
    """Who calls the method may have put its object in eval mode."""
    assert export("pass", PARTS).mode is None


@pytest.mark.parametrize(("body", "mode"), MODES.values(), ids=MODES.keys())
def test_the_mode_of(body: str, mode: str | None) -> None:
    assert export(body).mode == mode


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing but the model": ("", {"dynamo": True, "has_dynamic_axes": False, "has_dynamic_shapes": False}),
    "dynamo=False": ("dynamo=False", {"dynamo": False, "exporters": ("torchscript",)}),
    "dynamo=True": ("dynamo=True", {"dynamo": True, "exporters": ("dynamo",)}),
    "dynamo by a variable": ("dynamo=flag()", {"dynamo": None, "exporters": ("torchscript", "dynamo")}),
    "names": (
        "input_names=['x'], output_names=['y']",
        {"input_names": ("x",), "output_names": ("y",), "parameters": ("x", "mask")},
    ),
    "axes by dict": (
        "dynamic_axes={'x': {0: 'batch'}}",
        {"has_dynamic_axes": True, "axes_known": True, "axes": (("x", (0,)),)},
    ),
    "axes by list": ("dynamic_axes={'x': [0, 2]}", {"has_dynamic_axes": True, "axes": (("x", (0, 2)),)}),
    "axes by dict()": ("dynamic_axes=dict(x={0: 'batch'})", {"axes": (("x", (0,)),)}),
    "axes from a function": ("dynamic_axes=axes()", {"has_dynamic_axes": True, "axes_known": False}),
    "no axes": ("dynamic_axes=None", {"has_dynamic_axes": False}),
    "shapes": (
        "dynamic_shapes={'x': {0: torch.export.Dim('batch')}}",
        {"has_dynamic_axes": False, "has_dynamic_shapes": True, "axes": (("x", (0,)),)},
    ),
    "options in a dict": ("**{'opset_version': 17}", {"opset": 17, "has_dynamic_axes": False}),
    "options of which nothing is known": (
        "**options()",
        {"dynamo": None, "has_dynamic_axes": True, "axes_known": False},
    ),
    "an opset": ("opset_version=17", {"opset": 17}),
    "training mode": ("training=torch.onnx.TrainingMode.TRAINING", {"training": "TRAINING"}),
    "an axis that a layer fixes": (
        "input_names=['x'], dynamic_axes={'x': {1: 'channels', 2: 'height'}}",
        {"fixed_axes": (("x", 1, "Conv2d takes 3 channels"),)},
    ),
}


@pytest.mark.parametrize(("options", "expected"), CALLS.values(), ids=CALLS.keys())
def test_an_export_with(options: str, expected: dict[str, Any]) -> None:
    observation = export(f"torch.onnx.export(build(), ({IMAGE},), 'm.onnx', {options})")
    assert {name: getattr(observation, name) for name in expected} == expected


FORMS = {
    "by position": f"torch.onnx.export(build(), {IMAGE}, 'm.onnx')",
    "by name": f"torch.onnx.export(model=build(), args=({IMAGE},), f='m.onnx')",
    "from torch import onnx": f"from torch import onnx\nonnx.export(build(), {IMAGE}, 'm.onnx')",
    "import torch.onnx as": f"import torch.onnx as onnx\nonnx.export(build(), {IMAGE}, 'm.onnx')",
    "under no_grad": f"with torch.no_grad():\n    torch.onnx.export(build(), {IMAGE}, 'm.onnx')",
    "in a try": f"try:\n    torch.onnx.export(build(), {IMAGE}, 'm.onnx')\nexcept RuntimeError:\n    pass",
    "in a loop": f"for name in 'ab':\n    torch.onnx.export(build(), {IMAGE}, name)",
    "bound before": f"options = dict(input_names=['x'])\ntorch.onnx.export(build(), {IMAGE}, 'm.onnx', **options)",
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS.keys())
def test_an_export_is_seen(body: str) -> None:
    observation = export(body)
    assert (observation.model, observation.mode, observation.api) == ("M", "eval", "torch.onnx.export")


def test_axes_that_grow_before_the_call() -> None:
    observation = export(
        f"axes = {{'x': {{0: 'b'}}}}\naxes['y'] = {{0: 'b'}}\ntorch.onnx.export(M(), {IMAGE}, 'f', dynamic_axes=axes)"
    )
    assert observation.axes == (("x", (0,)), ("y", (0,)))


def test_a_model_that_another_file_builds(tmp_path: Path) -> None:
    files = {
        "models.py": PRELUDE + MODELS,
        "export.py": "import torch\nfrom models import build\n\n"
        f"if __name__ == '__main__':\n    torch.onnx.export(build(), {IMAGE}, 'm.onnx')\n",
    }
    (observation,) = facts_of(written(files, tmp_path))
    assert isinstance(observation, ExportCall)
    assert (observation.model, observation.mode, Path(observation.span.path).name, observation.span.line) == (
        "M",
        "eval",
        "export.py",
        5,
    )


def test_the_export_of_another_library_is_none() -> None:
    assert facts_of("import onnx_graph\ndef main():\n    onnx_graph.export(nn.Linear(3, 3), 'onnx')\n") == ()


def test_a_span_for_every_argument() -> None:
    observation = export(f"torch.onnx.export(build(), {IMAGE}, 'm.onnx', dynamic_axes={{'x': {{0: 'batch'}}}})")
    assert set(observation.arguments) == {"model", "args", "f", "dynamic_axes"}
    assert set(observation.axes_spans) == {"x"}


def test_the_mode_of_an_object_that_exports_itself_is_known_where_it_is_called() -> None:
    body = "class Own(M):\n    def save(self):\n        torch.onnx.export(self, torch.randn(1, 3, 8, 8), 'm.onnx')\n"
    assert {f.mode for f in facts_of(PRELUDE + MODELS + body) if isinstance(f, ExportCall)} == {None}
    calls = facts_of(PRELUDE + MODELS + body + "def main():\n    torch.onnx.export(1)\n    Own().save()\n")
    assert {f.mode for f in calls if isinstance(f, ExportCall) and f.model} == {"train"}


def test_an_export_in_a_function_is_what_each_of_its_callers_makes_of_it() -> None:
    source = (
        f"{PRELUDE}{MODELS}"
        "def export(model, names, axes=None):\n"
        f"    torch.onnx.export(model, {IMAGE}, 'm.onnx', input_names=names, dynamic_axes=axes)\n"
        "def one():\n    export(build(), ['x'], {'x': [0]})\n"
        "def two():\n    export(M(), ['y'])\n    export(M(), ['y'])\n"
    )
    calls = [f for f in facts_of(source) if isinstance(f, ExportCall)]
    assert {(c.mode, c.input_names, c.has_dynamic_axes) for c in calls} == {
        ("eval", ("x",), True),
        ("train", ("y",), False),
    }


def test_a_forward_that_the_script_replaces_is_not_exported() -> None:
    model = (
        "class Chunked(nn.Module):\n"
        "    def forward(self, x: Tensor):\n        return x if x.sum() > 0 else -x\n"
        "    def forward_chunk(self, x: Tensor):\n        return x if x.mean() > 0 else -x\n"
    )
    script = (
        "def main():\n    m = Chunked().eval()\n    m.forward = m.forward_chunk\n    torch.onnx.export(m, x, 'f')\n"
    )
    assert [f.text for f in facts_of(PRELUDE + model + script) if isinstance(f, Branch)] == ["x.mean() > 0"]
    assert [f.text for f in facts_of(PRELUDE + model) if isinstance(f, Branch)] == ["x.sum() > 0"]


def test_the_part_of_a_model_from_a_checkpoint_is_what_is_exported() -> None:
    whole = "class Lit(lightning.LightningModule):\n    def __init__(self):\n        self.net = M()\n"
    call = f"torch.onnx.export(Lit.load_from_checkpoint('m').net.eval(), {IMAGE}, 'm.onnx')"
    observation = export(call, f"import lightning\n{whole}")
    assert (observation.model, observation.mode) == ("M", "eval")


@pytest.mark.parametrize(
    ("call", "exports"),
    [
        ("args = argparse.ArgumentParser().parse_args()\n    convert(args.batch_size)", 2),
        ("convert(batch_size=int(sys.argv[1]))", 2),
        ("convert()", 1),
        ("convert(batch_size=1)", 1),
    ],
)
def test_a_number_that_the_command_line_overrides_is_not_its_default(call: str, exports: int) -> None:
    source = f"""
def convert(batch_size=1):
    dynamic = False
    if batch_size <= 0:
        dynamic = True
    if dynamic:
        torch.onnx.export(M(), {IMAGE}, 'm.onnx', dynamic_axes={{'x': [0]}})
    else:
        torch.onnx.export(M(), {IMAGE}, 'm.onnx')

if __name__ == '__main__':
    import argparse, sys
    {call}
"""
    seen = facts_of(project_of(PRELUDE + MODELS + source))
    assert sum(isinstance(f, ExportCall) for f in seen) == exports


@pytest.mark.parametrize("head", ["@staticmethod\n    def run(", "@classmethod\n    def run(cls, ", "def run(self, "])
def test_a_number_is_looked_for_where_the_call_of_a_method_has_it(head: str) -> None:
    source = f"""
class Convert:
    {head}batch_size=1):
        if batch_size <= 0:
            torch.onnx.export(M(), {IMAGE}, 'm.onnx', dynamic_axes={{'x': [0]}})

Convert().run(int(sys.argv[1]))
"""
    assert any(isinstance(f, ExportCall) for f in facts_of(project_of(PRELUDE + "import sys\n" + MODELS + source)))


def test_the_default_of_an_option_is_looked_for_where_the_caller_stands() -> None:
    model = "class M(nn.Module):\n    def forward(self, x):\n        return x\n"
    exporting = f"""{PRELUDE}
{model}
def export_model(model, opset=18):
    torch.onnx.export(model, torch.ones(2, 3), "m.onnx", opset_version=opset)
"""
    script = f"""{PRELUDE}
import argparse
from exporting import M, export_model
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opset", type=int, default=13)
    args = parser.parse_args()
    export_model(M().eval(), opset=args.opset)
"""
    seen = facts_of(project_of({"exporting.py": exporting, "script.py": script}))
    assert {call.opset for call in seen if isinstance(call, ExportCall)} == {13}
