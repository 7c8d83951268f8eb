"""What a built model says about its inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.model_facts import Plain, Slot, of_layer, read_facts, slots_of


class Configured(nn.Module):
    def __init__(self, **sizes: Any) -> None:
        super().__init__()
        self.config = SimpleNamespace(**sizes)


def test_sizes_that_the_configuration_names_come_first() -> None:
    facts = read_facts(Configured(image_size=40, num_channels=4, hidden_size=24))
    assert (facts.sides[0], facts.channels[0], facts.widths[0]) == ((40, 40), 4, 24)
    assert facts.image == (4, 40, 40)


def test_what_is_no_size_is_passed_over() -> None:
    class Raising(nn.Module):
        @property
        def image_size(self) -> int:
            raise RuntimeError("not built yet")

    assert read_facts(Raising()).sides[0] == say.SIDES[0]
    facts = read_facts(Configured(image_size=True, num_channels="three", hidden_size=-1))
    plain = read_facts(nn.Identity())
    assert (facts.sides, facts.channels, facts.widths) == (plain.sides, plain.channels, plain.widths)


def test_a_sequence_is_no_longer_than_the_positions_that_there_are() -> None:
    assert max(read_facts(Configured(max_position_embeddings=5)).lengths) == 5
    table = nn.Module()
    table.pos_embed = nn.Parameter(torch.zeros(1, 17, 8))
    assert {17, 16} <= set(read_facts(table).lengths)


def test_states_are_those_of_recurrent_layers() -> None:
    model = nn.ModuleList([nn.LSTM(3, 5, num_layers=2, bidirectional=True), nn.GRUCell(3, 7)])
    assert set(read_facts(model).states) == {(4, say.BATCH, 5), (say.BATCH, 7)}


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv1d(3, 4, 3),
        nn.Conv2d(3, 4, 3),
        nn.Conv3d(3, 4, 3),
        nn.ConvTranspose2d(3, 4, 3),
        nn.Linear(6, 2),
        nn.LayerNorm((4, 6)),
        nn.BatchNorm1d(6),
        nn.BatchNorm2d(6),
        nn.GroupNorm(2, 6),
        nn.GRU(6, 2),
        nn.GRUCell(6, 2),
        nn.Embedding(9, 4),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_layer_takes_what_is_said_to_fit_it(layer: nn.Module) -> None:
    first = of_layer(layer, [(16, 16)], [8])[0]
    dtype = getattr(torch, first.dtype)
    layer.eval()(torch.zeros(first.shape, dtype=dtype))


def test_of_a_layer_that_takes_anything_nothing_is_said() -> None:
    assert of_layer(nn.ReLU(), [(16, 16)], [8]) == []


def test_the_tensors_of_a_guess_and_other_sizes_of_one() -> None:
    slot = Slot("float32", (2, 3))
    assert slots_of({"x": slot, "n": Plain(3)}) == {"x": slot}
    assert slot.resized(-1, 5) == Slot("float32", (2, 5))
