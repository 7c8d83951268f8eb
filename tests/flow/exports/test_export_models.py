"""An exported model as something to probe: built as the script builds it, fed what the call feeds it, or why not."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest
from analysing import analysed

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.flow.exports.export_models import names_of
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.values.domain import CONFIG, Const, Seq, Tuple, Value

MADE = """
from dataclasses import dataclass

@dataclass
class Settings:
    width: int = 4
    names: tuple = ("a",)

class Net(nn.Module):
    def __init__(self, settings, heads=2, *, bias=True):
        super().__init__()
        self.body = nn.Linear(settings.width, heads, bias=bias)
    def forward(self, x, lengths=None, scaled=False):
        return self.body(x)
"""


def candidate(body: str, before: str = MADE) -> Candidate:
    """The one model that a script exports which begins like this."""
    found = analysed(before + textwrap.dedent(body)).candidates
    (exported,) = [c for c in found if c.source == "call-site"]
    return exported


def test_an_exported_model_is_built_with_the_arguments_that_the_script_gives() -> None:
    found = candidate("torch.onnx.export(Net(Settings(8), 3, bias=False), torch.randn(1, 8), 'm.onnx')")
    assert found.factory == "model:Net"
    assert found.arguments == {
        "settings": {"_target_": "model:Settings", "width": 8},
        "heads": 3,
        "bias": False,
    }
    assert found.reason is None


def test_arguments_that_the_source_does_not_tell_leave_the_model_unbuilt() -> None:
    found = candidate("import json\ntorch.onnx.export(Net(Settings(**json.load(open('s')))), torch.randn(1, 8), 'm')")
    assert found.reason == "its constructor is given arguments that the source does not tell"


def test_a_number_that_has_no_spelling_is_not_taken_over() -> None:
    assert candidate("torch.onnx.export(Net(Settings(1e999)), torch.randn(1, 8), 'm.onnx')").reason is not None
    call = "torch.onnx.export(Net(Settings()), (torch.randn(1, 4), torch.tensor([1e999, 2.0])), 'm.onnx')"
    found = candidate(call)
    assert isinstance(found.inputs, Mapping)
    assert found.inputs["lengths"].values == ()


def test_numbers_that_the_call_writes_out_are_the_example() -> None:
    call = "torch.onnx.export(Net(Settings()), (torch.randn(2, 4), torch.tensor([[5], [3]]), True), 'm.onnx')"
    found = candidate(call)
    assert isinstance(found.inputs, Mapping)
    assert found.inputs["x"].values == ()
    assert found.inputs["lengths"] == TensorSpec("int64", (DimSpec(None, 2), DimSpec(None, 1)), (5, 3))
    assert found.values == {"scaled": True}
    assert found.reason is None


def test_a_script_that_defines_what_it_exports_names_the_class_once() -> None:
    body = """
    def main():
        torch.onnx.export(Net(Settings()), torch.randn(1, 4), "m.onnx")
    if __name__ == "__main__":
        main()
    """
    assert candidate(body).factory == "model:Net"


def test_the_axes_that_the_call_names_are_those_of_the_specs() -> None:
    axes = "input_names=['pixels'], dynamic_axes={'pixels': {0: 'batch'}}"
    inputs = candidate(f"torch.onnx.export(Net(Settings()), torch.randn(2, 4), 'm.onnx', {axes})").inputs
    assert inputs == {"x": TensorSpec("float32", (DimSpec("batch", 2), DimSpec(None, 4)))}
    shapes = "dynamo=True, dynamic_shapes={'x': {1: torch.export.Dim.AUTO}}"
    inputs = candidate(f"torch.onnx.export(Net(Settings()), torch.randn(2, 4), 'm.onnx', {shapes})").inputs
    assert inputs == {"x": TensorSpec("float32", (DimSpec(None, 2), DimSpec("x_1", 4)))}


@pytest.mark.parametrize("inputs", ["load()", "torch.randn(size())", "(torch.randn(1, 4), load())"])
def test_example_inputs_that_the_source_does_not_tell_are_a_reason(inputs: str) -> None:
    head = "from elsewhere import load, size\n"
    found = candidate(f"{head}torch.onnx.export(Net(Settings()), {inputs}, 'm.onnx')")
    assert found.reason == "the shapes of the export's example inputs cannot be told from the source"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (Tuple((Const("x"), Const("y")), "list"), ("x", "y")),
        (Tuple(()), ()),
        (Tuple((Const("x"), Const(1))), None),
        (Tuple((Const("x"), CONFIG)), None),
        (Seq(Const("x")), None),
        (None, None),
    ],
)
def test_the_names_in_a_list(value: Value | None, names: tuple[str, ...] | None) -> None:
    assert names_of(value) == names
