"""Dropout that is held still: as in eval mode, by whatever way it is called, and as before afterwards."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from onnxlint.probes.confirm.dropout_off import SOURCE, without_dropout


class Dropping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(0.9), nn.Dropout2d(0.9), nn.AlphaDropout(0.9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.dropout(self.layers(x), 0.9)
        return nn.functional.scaled_dot_product_attention(y, y, y, None, 0.9)


def test_in_the_block_a_model_computes_what_it_does_in_eval_mode() -> None:
    model, x = Dropping(), torch.ones(2, 3, 8, 4)
    with without_dropout():
        inside = model(x)
    expected = nn.functional.scaled_dot_product_attention(x, x, x)
    assert torch.allclose(inside, expected)
    assert not torch.allclose(model(x), expected), "behind the block it drops again"


def test_it_drops_again_where_the_block_raises() -> None:
    before = nn.functional.dropout
    with pytest.raises(ValueError, match="out"), without_dropout():
        raise ValueError("out")
    assert nn.functional.dropout is before


def test_what_is_dropped_may_be_written_to_without_a_change_of_its_input() -> None:
    x = torch.ones(3)
    with without_dropout():
        nn.functional.dropout(x, 0.5).zero_()
    assert x.sum() == 3


def test_a_script_that_has_the_source_alone_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in vars(nn.functional) if "dropout" in name or "attention" in name]:
        monkeypatch.setattr(nn.functional, name, getattr(nn.functional, name))  # put back behind the test
    exec(SOURCE, {"torch": torch})
    assert nn.Dropout(0.9)(torch.ones(1000)).sum() == 1000
