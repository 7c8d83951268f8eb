"""What an export call feeds to the model: examples by position and by name, and what its function says around it."""

from __future__ import annotations

import textwrap

import pytest
from analysing import PRELUDE, facts_of

from onnxlint.flow.state.observations import ExportCall

HEAD = """
FILL = torch.zeros(1, 8)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
    def forward(self, x, mask=None, scale=1.0, bias=FILL):
        return self.linear(x) * scale + bias
class Two(Net):
    def forward(self, x, *more):
        return x, self.linear(x)
"""


def export(body: str) -> ExportCall:
    """The export call of a function with this body, in which `x` and `y` are example inputs."""
    lines = ["x, y = torch.randn(1, 8), torch.randn(1, 8)", *textwrap.dedent(body).strip().split("\n")]
    source = PRELUDE + HEAD + "def main(size):\n" + "".join(f"    {line}\n" for line in lines)
    (observation,) = [f for f in facts_of(source) if isinstance(f, ExportCall)]
    return observation


def test_each_example_has_its_parameter_its_sizes_and_its_kind() -> None:
    call = export("torch.onnx.export(Net(), (x, None, 2.0, torch.zeros(size, 8)), 'm.onnx')")
    assert call.examples is not None
    assert [(e.parameter, e.sizes, e.kind) for e in call.examples] == [
        ("x", (1, 8), "tensor"),
        ("mask", None, "none"),
        ("scale", None, "number"),
        ("bias", (None, 8), "tensor"),
    ]


def test_one_variable_twice_is_marked_the_second_time() -> None:
    call = export("torch.onnx.export(Net(), (x, x, y), 'm.onnx')")
    assert call.examples is not None
    assert [e.again for e in call.examples] == [False, True, False]


@pytest.mark.parametrize(
    ("inputs", "keywords", "listed"),
    [
        ("(x, {'scale': 2.0})", ("scale",), False),
        ("(x,), kwargs={'mask': y}", ("mask",), False),
        ("(x,), kwargs=dict(mask=y)", ("mask",), False),
        ("[x, y]", (), True),
        ("x", (), False),
    ],
)
def test_inputs_by_name_and_in_a_list(inputs: str, keywords: tuple[str, ...], listed: bool) -> None:
    call = export(f"torch.onnx.export(Net(), args={inputs}, f='m.onnx')")
    assert (call.keywords, call.listed) == (keywords, listed)


def test_inputs_that_are_not_known_say_nothing() -> None:
    assert export("torch.onnx.export(Net(), size.inputs(), 'm.onnx')").examples is None


def test_a_tensor_for_a_default_that_the_call_leaves_is_named() -> None:
    assert export("torch.onnx.export(Net(), (x, y), 'm.onnx')").tensor_defaults == ("bias",)
    assert export("torch.onnx.export(Net(), (x, y, 1.0, y), 'm.onnx')").tensor_defaults == ()
    assert export("torch.onnx.export(Net(), (x,), 'm.onnx', kwargs={'bias': y})").tensor_defaults == ()


def test_the_parameters_of_what_is_exported() -> None:
    call = export("torch.onnx.export(Net(), (x,), 'm.onnx')")
    assert (call.parameters, call.required, call.variadic) == (("x", "mask", "scale", "bias"), 1, False)
    call = export("torch.onnx.export(Two(), (x,), 'm.onnx', output_names=['a'])")
    assert (call.parameters, call.required, call.variadic, call.outputs) == (None, 1, True, 2)


@pytest.mark.parametrize(
    ("before", "model", "wrapping", "precision"),
    [
        ("", "Net()", "", "float32"),
        ("", "Net().half()", "", "float16"),
        ("m = Net()\nm.double()", "m", "", "float64"),
        ("", "torch.compile(Net())", "compile", None),
        ("m = torch.jit.script(Net())", "m", "script", None),
    ],
)
def test_what_the_function_says_of_the_model(before: str, model: str, wrapping: str, precision: str | None) -> None:
    call = export(f"{before}\ntorch.onnx.export({model}, (x,), 'm.onnx')")
    assert call.wrapping == wrapping
    assert call.precision == precision


def test_weights_that_are_loaded_after_the_call_come_too_late() -> None:
    body = "m = Net()\n{}torch.onnx.export(m, (x,), 'm.onnx')\n{}"
    load = "m.load_state_dict(torch.load('m.pt'))\n"
    assert [text for _, text in export(body.format("", load)).later_loads] == ["m.load_state_dict()"]
    assert export(body.format(load, "")).later_loads == ()


@pytest.mark.parametrize(
    ("shapes", "form", "keys", "size"),
    [
        ("{'x': {0: 'b'}, 'mask': None}", "dict", ("x", "mask"), 2),
        ("({0: 'b'}, None)", "tuple", (), 2),
        ("size.shapes()", "", (), 0),
    ],
)
def test_the_form_of_dynamic_shapes(shapes: str, form: str, keys: tuple[str, ...], size: int) -> None:
    call = export(f"torch.onnx.export(Net(), (x, y), 'm.onnx', dynamo=True, dynamic_shapes={shapes})")
    assert (call.shapes_form, call.shapes_keys, call.shapes_size) == (form, keys, size)
