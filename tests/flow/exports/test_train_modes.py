"""Which models differ in training mode, by what of them; and the call that leaves the mode out."""

from __future__ import annotations

import pytest
from analysing import PRELUDE, facts_of

from onnxlint.flow.state.observations import DropoutCall, ExportCall, ModeReader

HEEDS = {
    "dropout": "nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))",
    "a module of its own that asks": "Asks()",
    "a dropout by a setting": "nn.Dropout(rate())",
    "a dropout between the layers of an LSTM": "nn.LSTM(4, 4, 2, dropout=0.1)",
    "a layer of attention with dropout": "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 2)",
    "instance norm that keeps statistics": "nn.InstanceNorm1d(4, track_running_stats=True)",
}
HEEDS_NOT = {
    "layers without a mode": "nn.Sequential(nn.Conv1d(4, 4, 1), nn.GroupNorm(1, 4), nn.GELU())",
    "modules in a list": "nn.ModuleList([nn.Linear(4, 4), Plain()])",
    "what nobody knows": "make_layer()",
    "a part in eval mode": "nn.ModuleList([Plain(), Asks().eval()])",
    "a part that a function puts in eval mode": "evaluated()",
    "a recurrent layer": "nn.GRU(4, 4, dropout=0.0)",
    "a dropout of one recurrent layer": "nn.LSTM(4, 4, dropout=0.1)",
    "no dropout": "nn.Sequential(nn.Dropout(0.0), nn.Dropout2d(p=0))",
    "batch norm, which is written as in eval mode": "nn.BatchNorm1d(4)",
    "instance norm": "nn.InstanceNorm1d(4)",
}
ASKS = """
from elsewhere import make_layer
class Asks(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x
class Plain(nn.Module):
    def forward(self, x):
        return x * 2
def evaluated():
    part = Asks()
    part.eval()
    return part
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 4
        self.inner = {}
    def forward(self, x):
        return self.inner(x)
"""


def readers(inner: str) -> tuple[ModeReader, ...]:
    """What is said to differ of a model in training mode that holds this."""
    call = "def main():\n    torch.onnx.export(Whole(), torch.randn(1, 3, 8, 8), 'm.onnx')\n"
    (observation,) = [f for f in facts_of(PRELUDE + ASKS.replace("{}", inner) + call) if isinstance(f, ExportCall)]
    return observation.mode_matters


@pytest.mark.parametrize("inner", HEEDS.values(), ids=HEEDS.keys())
def test_the_mode_matters_to(inner: str) -> None:
    assert readers(inner)


@pytest.mark.parametrize("inner", HEEDS_NOT.values(), ids=HEEDS_NOT.keys())
def test_the_mode_does_not_matter_to(inner: str) -> None:
    assert not readers(inner)


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        ("Asks()", (ModeReader("Asks"),)),
        ("nn.Sequential(nn.BatchNorm2d(3), nn.Dropout(0.5))", (ModeReader("Dropout", layer=True),)),
        ("[nn.Dropout(0.5), Asks()]", (ModeReader("Dropout", layer=True), ModeReader("Asks"))),
        ("nn.GRU(4, 4, 2, dropout=0.5)", (ModeReader("GRU", layer=True),)),
    ],
)
def test_what_differs_in_training_mode_is_named(inner: str, named: tuple[ModeReader, ...]) -> None:
    assert readers(inner) == named


@pytest.mark.parametrize(
    ("call", "left_out"),
    [("noisy(x)", True), ("noisy(x, training=self.training)", False), ("noisy(x, self.training)", False)],
)
def test_a_mode_that_is_left_out_of_a_call_is_the_default(call: str, left_out: bool) -> None:
    source = f"""
    def noisy(x, training=True):
        return x * (torch.rand(3) > 0.1) if training else x
    class M(nn.Module):
        def forward(self, x: Tensor):
            return {call}
    """
    drops = [f.text for f in facts_of(source) if isinstance(f, DropoutCall)]
    assert drops == (["noisy(x)"] if left_out else [])
