"""A length that the constructor fixes is hardly a dynamic axis; one that nothing is made for is."""

from __future__ import annotations

import pytest
from analysing import told

SOURCE = """\
class Mixer(nn.Module):
    def forward(self, x: Tensor):
        batch, length, width = x.shape
        if length % 2 == 0:
            x = x * 2
        return x

class Model(nn.Module):
    def __init__(self, configs):
        super().__init__()
        self.mixers = configs.kind(Mixer)
        self.head = nn.Linear({wide}, configs.pred_len)
    def forward(self, x: Tensor):
        B, L, D = x.shape
        return x * 2 if L > 64 else self.head(x)
"""


@pytest.mark.parametrize(
    ("wide", "sure"),
    [("configs.seq_len", False), ("configs.d_model * configs.seq_len", False), ("max_seq_len", True), ("width", True)],
)
def test_the_length_that_a_layer_is_made_for_is_set(wide: str, sure: bool) -> None:
    doubt = "" if sure else "?"
    expected = [f"Branch dim: L > 64{doubt}", f"Branch dim: length % 2 == 0{doubt}"]
    assert told(SOURCE.format(wide=wide)) == expected


HELD = """\
class Projector(nn.Module):
    def __init__(self, seq_len, width):
        super().__init__()
        self.series = nn.Conv1d({channels}, out_channels=1, kernel_size=3)
    def forward(self, x):
        return self.series(x)

class Model(nn.Module):
    def __init__(self, configs):
        super().__init__()
        self.tau = Projector({built}, width=configs.d_model)
    def forward(self, x: Tensor):
        B, L, D = x.shape
        return x * 2 if L > 64 else x * self.tau(x)
"""


@pytest.mark.parametrize(
    ("channels", "built", "sure"),
    [
        ("in_channels=seq_len", "seq_len=configs.seq_len", False),
        ("seq_len", "configs.seq_len", False),
        ("in_channels=width", "seq_len=configs.seq_len", True),
        ("in_channels=seq_len", "configs.d_model", True),
    ],
)
def test_the_length_that_a_part_is_built_for_is_set(channels: str, built: str, sure: bool) -> None:
    assert told(HELD.format(channels=channels, built=built)) == [f"Branch dim: L > 64{'' if sure else '?'}"]


@pytest.mark.parametrize(
    ("asked", "sure"), [("seq_len", False), ("width, seq_len_q", False), ("seq_len=None", True), ("max_seq_len", True)]
)
def test_the_length_that_a_constructor_asks_for_is_set(asked: str, sure: bool) -> None:
    source = f"""\
class Attention(nn.Module):
    def __init__(self, {asked}):
        super().__init__()
    def forward(self, x: Tensor):
        B, L, D = x.shape
        return x * 2 if L > 64 else x
"""
    assert told(source) == [f"Branch dim: L > 64{'' if sure else '?'}"]
