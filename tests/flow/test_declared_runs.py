"""Declared models: the axes that the configuration calls dynamic, and no others, are; the example's sizes are known."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest
from analysing import PRELUDE, project_of, told

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.flow.state.partitions import Declared

MODEL = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.rnn = nn.GRU(4, 4, batch_first=True)
        self.conv = nn.Conv2d(3, 4, 3)
        self.token = nn.Parameter(torch.zeros(1, 1, 4))
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.attention_second = nn.MultiheadAttention(4, 2)
        self.attention_wide = nn.MultiheadAttention(4, 2, kdim=4, vdim=4, batch_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
        self.decoder = nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)
    def forward(self, {parameters}):
"""
INPUTS = """
def inputs():
    return (torch.randn(2, 5, 4),)
def images():
    return torch.randn(2, 3, 32, 32)
def named():
    return {"x": torch.randn(2, 5, 4), "steps": 3}
def several():
    return torch.randn(2, 5, 4), (torch.randn(2, 4), torch.randn(7, 4))
def build():
    return M()
"""
BATCH = {"x": {0: "batch"}}
LENGTH = {"x": {1: "length"}}


def lint(
    body: str,
    dynamic: Mapping[str, Mapping[int, str]],
    inputs: str | Mapping[str, TensorSpec] = "model:inputs",
    factory: str = "model:M",
    parameters: str = "x",
) -> list[str]:
    """The observations of a declared model with this body of forward."""
    source = MODEL.format(parameters=parameters) + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + INPUTS
    return told(project_of(PRELUDE + source), [Declared(factory, inputs, dynamic)])


SILENT = {
    "a branch on an axis that is static": ("return x if x.shape[1] > 3 else -x", BATCH),
    "a branch on the batch where only the length is dynamic": ("return x if x.shape[0] > 3 else -x", LENGTH),
    "a loop over an axis that is static": ("for i in range(x.shape[1]):\n    x = x + i\nreturn x", BATCH),
    "a loop over a tensor along a static axis": ("for row in x:\n    x = x + row\nreturn x", LENGTH),
    "int() of an axis that is static": ("return x.view(-1, int(x.shape[1]), 4)", BATCH),
    "an unpacked axis that is static": ("b, n, c = x.shape\nreturn x if n > 3 else -x", BATCH),
    "an axis made static by a layer": ("return x if self.lin(x).shape[-1] > 3 else -x", BATCH),
    "the literal batch where the batch is static": ("return x.view(2, -1)", LENGTH),
    "a token expanded to the batch": ("return torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)", BATCH),
    "a state of zeros of the size of the batch": ("return self.rnn(x, torch.zeros(1, x.shape[0], 4))[0]", BATCH),
    "squeeze where no dynamic axis is left": ("return x.mean(0).squeeze()", BATCH),
    "attention over a static length": ("return self.attention(x, x, x)[0]", BATCH),
    "attention to a value of its own": ("return self.attention(x, x, self.lin(x))[0]", LENGTH),
    "attention with projections of their own": ("return self.attention_wide(x, x, x)[0]", LENGTH),
    "attention to the two ends": (
        "ends = torch.stack([x[:, 0], x[:, -1]], 1)\nreturn self.attention(x, ends, ends)[0]",
        LENGTH,
    ),
    "attention along the other axis": ("return self.attention_second(x, x, x)[0]", LENGTH),
    "a stack of layers over a static length": ("return self.encoder(x)", BATCH),
    "a grouped view": ("return x.view(x.shape[0], 5, 2, 2)", BATCH),
}


@pytest.mark.parametrize(("body", "dynamic"), SILENT.values(), ids=SILENT.keys())
def test_silent_about(body: str, dynamic: Mapping[str, Mapping[int, str]]) -> None:
    assert lint(body, dynamic) == []


FOUND = {
    "attention to itself": (
        "return self.attention(x, x, x)[0]",
        LENGTH,
        "AttentionSize: self.attention(x, x, x)",
    ),
    "attention by name": (
        "return self.attention(x[:, :1], key=x, value=x)[0]",
        LENGTH,
        "AttentionSize: self.attention(x[:, :1], key=x, value=x)",
    ),
    "attention by two names for one tensor": (
        "k = v = self.lin(x)\nreturn self.attention(x[:, :1], k, v)[0]",
        LENGTH,
        "AttentionSize: self.attention(x[:, :1], k, v)",
    ),
    "attention with the length in front": (
        "x = x.transpose(0, 1)\nreturn self.attention_second(x, x, x)[0]",
        LENGTH,
        "AttentionSize: self.attention_second(x, x, x)",
    ),
    "a stack of layers over a dynamic length": (
        "return self.encoder(x)",
        LENGTH,
        "AttentionSize: self.encoder(x)",
    ),
    "a memory of dynamic length": (
        "return self.decoder(self.token, x)",
        LENGTH,
        "AttentionSize: self.decoder(self.token, x)",
    ),
    "a branch on a dynamic axis": ("return x if x.shape[1] > 3 else -x", LENGTH, "Branch dim: x.shape[1] > 3"),
    "an axis counted from the end": (
        "return x if x.size(-2) > 3 else -x",
        LENGTH,
        "Branch dim: x.size(-2) > 3",
    ),
    "an axis declared from the end": (
        "return x if x.shape[1] > 3 else -x",
        {"x": {-2: "length"}},
        "Branch dim: x.shape[1] > 3",
    ),
    "arithmetic on a moved axis": (
        "n = x.transpose(0, 1).shape[0] // 2\nreturn x if n > 3 else -x",
        LENGTH,
        "Branch dim: n > 3",
    ),
    "the literal batch in view": ("return x.view(2, -1)", BATCH, "ShapeLiteral view: x.view(2, -1)"),
    "one in the place of the batch": ("return x.view(1, -1)", BATCH, "ShapeLiteral view: x.view(1, -1)"),
    "the literal length in view": (
        "return x.view(x.shape[0], 5, 2, 2)",
        {"x": {0: "batch", 1: "length"}},
        "ShapeLiteral view: x.view(x.shape[0], 5, 2, 2)",
    ),
    "a token expanded to the example's batch": (
        "return torch.cat([self.token.expand(2, -1, -1), x], dim=1)",
        BATCH,
        "ShapeLiteral expand: self.token.expand(2, -1, -1)",
    ),
    "a state of zeros for the example's batch": (
        "return self.rnn(x, torch.zeros(1, 2, 4))[0]",
        BATCH,
        "ShapeLiteral fixed state: torch.zeros(1, 2, 4)",
    ),
    "zeros for the example's batch, added": (
        "return x + torch.zeros(2, 5, 4)",
        BATCH,
        "ShapeLiteral fixed state: torch.zeros(2, 5, 4)",
    ),
    "zeros for the example's batch, appended": (
        "return torch.cat([x, torch.zeros(2, 1, 4)], dim=1)",
        BATCH,
        "ShapeLiteral fixed state: torch.zeros(2, 1, 4)",
    ),
    "int() of a dynamic axis": ("return x.view(-1, int(x.shape[1]), 4)", LENGTH, "Escape int() dim: int(x.shape[1])"),
    "a loop over a dynamic axis": (
        "for i in range(x.shape[1]):\n    x = x + i\nreturn x",
        LENGTH,
        "Loop dim: range(x.shape[1])",
    ),
    "squeeze of a dynamic axis": ("return x.sum(2).squeeze().sum(0)", BATCH, "Squeeze: x.sum(2).squeeze()"),
}


@pytest.mark.parametrize(("body", "dynamic", "expected"), FOUND.values(), ids=FOUND.keys())
def test_found(body: str, dynamic: Mapping[str, Mapping[int, str]], expected: str) -> None:
    assert lint(body, dynamic) == [expected]


def test_a_factory_function_is_a_model_too() -> None:
    assert lint("return x if x.shape[1] > 3 else -x", LENGTH, factory="model:build") == ["Branch dim: x.shape[1] > 3"]


def test_a_factory_that_is_not_there_leaves_the_class_as_undeclared() -> None:
    assert lint("return x if x.shape[1] > 3 else -x", LENGTH, factory="model:nothing") == [
        "Branch dim: x.shape[1] > 3?"
    ]


def spec(*dims: tuple[str | None, int | None]) -> Mapping[str, TensorSpec]:
    """The spec of an input `x`."""
    return {"x": TensorSpec("float32", tuple(DimSpec(name, size) for name, size in dims))}


def test_the_axes_of_a_spec_are_dynamic_where_they_have_a_name() -> None:
    image = spec(("batch", 2), (None, 3), ("height", 32), (None, 32))
    tests = "if x.shape[{}] > 3:\n    x = x + 1\n"
    body = "".join(tests.format(axis) for axis in range(4)) + "return x"
    assert lint(body, {}, image) == ["Branch dim: x.shape[0] > 3", "Branch dim: x.shape[2] > 3"]


def test_a_dynamic_axis_stays_dynamic_through_a_convolution() -> None:
    image = spec((None, 2), (None, 3), ("height", 32), (None, 32))
    body = "y = self.conv(x)\nassert y.shape[1] == 4\nassert y.shape[3] == 30\nreturn x if y.shape[2] > 3 else -x"
    assert lint(body, {}, image) == ["Branch dim: y.shape[2] > 3"]


def test_inputs_by_name() -> None:
    found = lint("return x if x.shape[1] > 3 else -x", LENGTH, "model:named", parameters="x, steps=1")
    assert "Branch dim: x.shape[1] > 3" in found


def test_a_number_among_the_inputs_is_frozen() -> None:
    found = lint("for _ in range(steps):\n    x = x + 1\nreturn x", BATCH, "model:named", parameters="x, steps=1")
    assert [line.partition(":")[0] for line in found] == ["FrozenArgument steps"]


def test_a_tuple_among_the_inputs_has_the_axes_of_its_parameter() -> None:
    body = "a, b = pair\nassert b.shape[1] == 4\nreturn x if a.shape[0] > 3 else -x"
    found = lint(body, {"pair": {0: "batch"}}, "model:several", parameters="x, pair")
    assert found == ["Branch dim: a.shape[0] > 3"]
