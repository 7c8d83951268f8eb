"""Models whose forward takes tensors in containers, which nobody described but its annotations."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import register_dataclass


class State(NamedTuple):
    hidden: Tensor
    cell: Tensor


@dataclass
class Batch:
    image: Tensor
    mask: Tensor


register_dataclass(Batch)


class ByKey(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["image"].mean((1, 2, 3)) + batch.get("mask").sum(1)


class AllValues(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return sum(value.flatten(1).sum(1) for value in batch.values())


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 3)

    def forward(self, parts: list[Tensor]) -> Tensor:
        return torch.stack([self.body(part) for part in parts]).sum(0)


class Paired(nn.Module):
    def forward(self, pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        if not isinstance(pair, tuple):
            raise TypeError("a tuple is wanted")
        first, second = pair
        return first + second, first - second


class Triple(nn.Module):
    """Nothing but the annotation counts them."""

    def forward(self, x: Tensor, three: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        if len(three) != 3:
            raise ValueError("three are wanted")
        return x + sum(part.mean() for part in three)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(6, 5)

    def forward(self, x: Tensor, state: State) -> State:
        hidden, cell = self.cell(x, (state.hidden, state.cell))
        return State(hidden, cell)


class Held(nn.Module):
    def forward(self, batch: Batch) -> Tensor:
        return batch.image.mean((1, 2, 3)) + batch.mask.sum(1)


class Maybe(nn.Module):
    """The containers are optional."""

    def forward(self, x: Tensor, pair: tuple[Tensor, Tensor] | None = None, state: State | None = None) -> Tensor:
        x = x * 2
        if pair is not None:
            x = x + pair[0] * pair[1]
        if state is not None:
            x = x * state.hidden.mean() + state.cell.mean()
        return x


class Ordered(nn.Module):
    def forward(self, maps: OrderedDict[str, Tensor]) -> Tensor:
        return maps["low"] + maps["high"]
