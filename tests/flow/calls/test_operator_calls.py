"""Calls of operators: what they give, functions and methods alike, and which of them are observed."""

from __future__ import annotations

import textwrap

import pytest
from analysing import BATCH, LENGTH, reported, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("torch.nn.functional.relu(x)", "tensor:batch,length,4"),
        ("torch.relu(input=x)", "tensor:batch,length,4"),
        ("x.item()", "data"),
        ("x.tolist()", "data"),
        ("x.detach().cpu().numpy()", "array"),
        ("torch.no_such_function(x)", "unknown"),
    ],
)
def test_the_operator_gives(call: str, words: str) -> None:
    assert words_of(call, X) == words


def observed(body: str) -> list[str]:
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    model = "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    model += "        self.register_buffer('scale', torch.ones(1))\n"
    return [line.rstrip("?") for line in told(f"{model}    def forward(self, x: Tensor):\n{lines}\n")]


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("return x * x.max().item()", ["Escape .item() data: x.max().item()"]),
        ("return x + torch.rand(3)", ["RandomDraw torch: torch.rand(3)"]),
        ("return F.dropout(x, 0.5)", ["DropoutCall: F.dropout(x, 0.5)"]),
        ("return F.dropout(x, 0.5, self.training)", []),
        ("self.scale.mul_(2)\nreturn x * self.scale", ["StateWrite buffer: self.scale"]),
        ("y = x.view(-1)\ny.mul_(2)\nreturn x", ["ViewWrite: y.mul_(2)"]),
        ("y = x.view(-1).clone()\ny.mul_(2)\nreturn x + y", []),
    ],
)
def test_what_is_observed_of_an_operator(body: str, seen: list[str]) -> None:
    assert observed(body) == seen


SAMPLES = """
class M(nn.Module):
    def forward(self, x: Tensor, temperature: float):
        return x + torch.empty_like(x).{draw}
"""


@pytest.mark.parametrize(
    ("draw", "effects"),
    [
        ("uniform_(0, 1)", {"export-error"}),
        ("exponential_()", {"export-error", "nondeterministic"}),
        ("normal_()", {"nondeterministic"}),
    ],
)
def test_a_draw_that_an_exporter_refuses_is_told_as_that(draw: str, effects: set[str]) -> None:
    (found,) = reported(SAMPLES.format(draw=draw))
    assert found.code == "ONX305"
    assert {str(o) for o in found.effects.values()} == effects
    assert ("cannot lower" in found.message) is ("export-error" in effects)


@pytest.mark.parametrize(("draw", "severity"), [("uniform_(0, 1)", "warning"), ("normal_()", "note")])
def test_a_draw_that_is_meant_is_told_where_no_exporter_lowers_it(draw: str, severity: str) -> None:
    (found,) = reported(SAMPLES.format(draw=f"{draw} * temperature"))
    assert (found.code, str(found.severity)) == ("ONX305", severity)


@pytest.mark.parametrize(("given", "told_of"), [("", 0), (", x", 1)])
def test_an_operator_on_none_is_no_part_of_a_model_that_runs(given: str, told_of: int) -> None:
    source = "def moved(x, by=None, pose=None):\n    if pose is None:\n        pose = torch.inverse(by)\n"
    source += "    return x @ pose\n"
    source += f"class M(nn.Module):\n    def forward(self, x: Tensor):\n        return moved(x{given})\n"
    assert len(told(source)) == told_of


def test_a_generator_that_the_function_seeds_draws_the_same_each_time() -> None:
    body = "{}choice = np.random.choice(4, 2)\nreturn x[:, choice]"
    assert observed(body.format("np.random.seed(0)\n")) == []
    assert observed(body.format("")) == ["RandomDraw python: np.random.choice(4, 2)"]


STATISTICS = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4, track_running_stats=False)

    def forward(self, x: Tensor):
        return {way}
"""


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("self.norm(x)", {"torchscript": "export-error"}),
        ("x + F.batch_norm(x, self.m, self.v, training=True)", {"torchscript": "ok", "dynamo": "wrong-values"}),
    ],
)
def test_a_layer_without_running_statistics_is_refused_where_a_call_with_them_is_wrong(
    way: str, told: dict[str, str]
) -> None:
    found = [f for f in reported(STATISTICS.format(way=way)) if f.code == "ONX307"]
    assert told in [{e: str(outcome) for e, outcome in f.effects.items()} for f in found]


@pytest.mark.parametrize(
    ("write", "depends"),
    [
        ("y[0].copy_(x)", True),
        ("y[:2].view(-1).add_(x)", True),
        ("y.add_(x)", True),
        ("y[0] = x", True),
        ("y[0].add_(2)", False),
        ("y.add_(self.scale)", False),
    ],
)
def test_a_tensor_depends_on_the_inputs_as_soon_as_one_is_written_into_it(write: str, depends: bool) -> None:
    seen = observed(f"y = torch.zeros(3, 4)\n{write}\nif y.sum() > 0:\n    x = x + 1\nreturn x + y")
    assert ("Branch data: y.sum() > 0" in seen) is depends
