"""Arms and loops: what names mean after them, and which exporters come to what follows."""

import pytest
from analysing import BATCH, PRELUDE, facts_of, result_of
from test_silence import forward

from onnxlint.flow.state.observations import Observation
from onnxlint.flow.values.domain import CONFIG, Const, Seq, Tensor, Value

GIVES: dict[str, Value] = {
    "if True:\n        a = 1\n    else:\n        a = 2\n    return a": Const(1),
    "if x.flag:\n        a = 1\n    else:\n        a = 1\n    return a": Const(1),
    "if unknown:\n        a = 1\n    else:\n        a = 2\n    return a": CONFIG,
    "if unknown:\n        return 1\n    a = 2\n    return 1": Const(1),
    "a = []\n    for i in unknown:\n        a.append(1)\n    return a": Seq(CONFIG),
    "a = 0\n    for i in (1, 2):\n        a = i\n    return a": CONFIG,
}


@pytest.mark.parametrize(("body", "value"), GIVES.items())
def test_what_a_name_means_after(body: str, value: Value) -> None:
    assert result_of(f"{PRELUDE}def f(x):\n    {body}\n", Tensor((BATCH,))) == value


def branch(source: str) -> Observation:
    """The one observation of a source."""
    (observation,) = facts_of(source)
    return observation


def test_who_returns_early_misses_what_follows() -> None:
    body = "if torch.jit.is_tracing():\n    return x\nif x.sum() > 0:\n    return x\nreturn -x"
    assert branch(forward(body)).exporters == ("dynamo",)


def test_who_skips_an_iteration_comes_back_for_the_rest() -> None:
    body = """
        for block in self.blocks:
            if torch.jit.is_tracing():
                continue
            x = block(x)
        return x if x.sum() > 0 else -x
    """
    assert branch(forward(body)).exporters == ("torchscript", "dynamo")


def test_who_returns_early_from_a_helper_comes_back_to_the_caller() -> None:
    source = """
def helper(x):
    if torch.jit.is_tracing():
        return x
    return x + 1
class M(nn.Module):
    def forward(self, x):
        x = helper(x)
        return x if x.sum() > 0 else -x
"""
    assert branch(source).exporters == ("torchscript", "dynamo")
