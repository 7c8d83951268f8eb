"""Calls of libraries: what torch, numpy and math give, and which of them are observed."""

from __future__ import annotations

import textwrap

import pytest
from analysing import BATCH, LENGTH, PRELUDE, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("nn.Linear(4, 9)(x)", "tensor/float:batch,length,9"),
        ("torch.Size([1, 2])", "1 & 2"),
        ("math.ceil(x.shape[0] / 2)", "dim"),
        ("math.sqrt(4)", "config"),
        ("np.array([1, 2])", "config"),
        ("np.array(x)", "array"),
        ("torch.finfo(x.dtype).min", "config"),
        ("partial(torch.sum, dim=1)(x)", "tensor:batch,4"),
    ],
)
def test_the_call_gives(call: str, words: str) -> None:
    assert words_of(call, X) == words


def observed(body: str) -> list[str]:
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    return [line.rstrip("?") for line in told(f"class M(nn.Module):\n    def forward(self, x: Tensor):\n{lines}\n")]


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("return x * math.floor(x.max())", ["Escape math.floor() data: math.floor(x.max())"]),
        (
            "n = x.nonzero().numel()\nreturn x + torch.from_numpy(np.minimum(n, 5))",
            ["Escape numpy.minimum data: np.minimum(n, 5)"],
        ),
        ("return x if self.training else x * 2", []),
        ("return x + random.random()", ["RandomDraw python: random.random()"]),
    ],
)
def test_what_is_observed_of_a_call(body: str, seen: list[str]) -> None:
    assert observed(body) == seen


def test_a_function_that_its_file_defines_hides_no_library() -> None:
    source = "def relu(x):\n    return x if x.sum() > 0 else -x\n"
    source += "class M(nn.Module):\n    def forward(self, x: Tensor):\n        return torch.relu(x) + {}(x)\n"
    assert told(source.format("relu")) == ["Branch data: x.sum() > 0"]
    assert told(source.format("F.relu")) == []


QUERIES = """
from elsewhere import Decoder
class M(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.queries = nn.Parameter(torch.zeros(1, 4, 8))
        self.decoder, self.head = Decoder(size), nn.Linear(8, 5)
    def forward(self, x: Tensor):
        fixed = self.head(self.decoder(self.queries))
        out = self.head(self.decoder(self.queries, x))
        return out if out.sum() > fixed.sum() else -out
"""
CLONES = """
from torch.nn.modules import transformer
class Layer(nn.Module):
    def forward(self, x, last=False):
        return x if x.sum() > 0 else -x
class M(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = transformer._get_clones(Layer(), count)
    def forward(self, x: Tensor):
        for i, layer in enumerate(self.layers):
            x = layer(x, last=i == len(self.layers) - 1)
        return x if x.mean() > 0 else x + 1
"""


def test_what_is_not_known_depends_on_an_input_behind_a_weight() -> None:
    assert "Branch data: out.sum() > fixed.sum()" in told(PRELUDE + QUERIES)


def test_without_an_input_it_depends_on_the_weight() -> None:
    alone = QUERIES.replace("out.sum() > fixed.sum()", "fixed.sum() > 0")
    assert "Branch weight: fixed.sum() > 0?" in told(PRELUDE + alone)


def test_clones_are_run() -> None:
    observed = told(PRELUDE + CLONES)
    assert {"Branch data: x.sum() > 0", "Branch data: x.mean() > 0"} <= set(observed)


@pytest.mark.parametrize(
    ("transform", "seen"),
    [("Spectrogram", ["ComplexCall: self.made(x)"]), ("MFCC", ["ComplexCall: self.made(x)"]), ("Resample", [])],
)
def test_a_transform_of_torchaudio_that_goes_through_stft(transform: str, seen: list[str]) -> None:
    made = "import torchaudio\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    made += f"        self.made = torchaudio.transforms.{transform}(16000)\n"
    assert told(made + "    def forward(self, x: Tensor):\n        return self.made(x) * 2\n") == seen
