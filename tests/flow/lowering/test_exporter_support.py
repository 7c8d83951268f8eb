"""Operators that an exporter has no form of, or another one: by kind, rank and arguments."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of

HEAD = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor, scores: Tensor):
"""


def codes(body: str) -> list[str]:
    """The rules that object to a forward of this body."""
    return [code for code, _, _ in findings_of(HEAD + textwrap.indent(textwrap.dedent(body).strip(), " " * 8))]


FRACTIONS = {
    "times positions": "return scores.argmax(-1) * (x.shape[0] / 2)",
    "minus positions": "return (x.shape[0] - 2.5) - scores.argmax(-1)",
    "times a table on its device": "return (x.shape[0] - 2.5) * torch.tensor([[1000, 0]]).to(x.device)",
    "by the name of the operator": "return torch.mul(scores.argmax(-1), -(x.shape[0] * 0.5))",
}
NUMBERS = {
    "a whole size": "return scores.argmax(-1) * x.shape[0]",
    "a sum": "return scores.argmax(-1) + x.shape[0] / 2",
    "floats": "return scores.float() * (x.shape[0] / 2)",
    "a fixed fraction": "return scores.argmax(-1) * 0.5",
}


@pytest.mark.parametrize("body", FRACTIONS.values(), ids=FRACTIONS.keys())
def test_a_fraction_of_a_size_meets_integers(body: str) -> None:
    assert codes(body) == ["ONX404"]


@pytest.mark.parametrize("body", NUMBERS.values(), ids=NUMBERS.keys())
def test_what_dynamo_makes_a_tensor_of(body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize("call", ["F.max_pool2d(y, 3)", "self.pool(y)", "F.adaptive_avg_pool2d(y, 1)"])
def test_pooling_without_a_batch(call: str) -> None:
    body = "b, _, h, w = x.shape\ny = x.reshape(b, {}h * 2, w * 2)\nreturn " + call
    assert codes(body.format("")) == ["ONX408"]
    assert codes(body.format("1, ")) == []
