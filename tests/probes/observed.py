"""Models that the probe tests observe. Line numbers are found by their marks (`# at: name`), never written down."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from pathlib import Path
from random import uniform
from typing import Any

import numpy
import torch
from torch import nn

from onnxlint.probes.common.userspace import relative

HERE = relative(__file__, None)


@functools.cache
def line(mark: str) -> int:
    """The line of this file that ends with `# at: mark`."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = [number for number, text in enumerate(lines, 1) if text.endswith(f"# at: {mark}")]
    return found


class Gate(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # at: gate
            x = x * 2
        else:
            x = x * 3
        if x.shape[0] > 4:  # at: gate-size
            x = x + 1
        return x


class EarlyExit(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(8):  # at: exit-loop
            x = x * 0.5
            if x.abs().max() < 1:  # at: exit
                break
        if x.dim() == 2:
            x = x + 1
        return x


class Skipping(nn.Module):
    """Skips some turns of a loop; the test after it depends on the turn alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(())
        for k in range(6):
            if x[k] < 0:  # at: skip
                continue
            if k % 2:
                total = total + x[k]
        return total


class Counted(nn.Module):
    def forward(self, x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        for _ in range(int(steps)):  # at: counted
            x = self.step(x)
        return x

    def step(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 3:  # at: step
            return x - 1
        return x + 1


class Reader(nn.Module):
    """Turns tensors into Python values in every way; each line is one read."""

    def forward(self, x: torch.Tensor) -> Any:
        n = x.argmax()
        found = [
            bool(x[0] > 0),  # at: bool
            int(n),  # at: int
            float(x[0]),  # at: float
            x.max().item(),  # at: item
            x.tolist(),  # at: tolist
            x.numpy(),  # at: numpy
            numpy.asarray(x),  # at: asarray
            len(x),  # at: len
            list(x),  # at: iter
            2.0 in x,  # at: in
            [1, 2, 3, 4, 5, 6, 7, 8][n],  # at: index
            torch.zeros(n),  # at: zeros
            torch.equal(x, x + 0),  # at: equal
            torch.tensor([x[0], x[1]]),  # at: tensor
        ]
        f"{x}"
        repr(x)
        return len(found), x.nonzero(), x[x > 0]  # at: shapes


class Draws(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.off = nn.Dropout(0.5)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.off(x) + nn.functional.dropout(x, 0.0)
        x = nn.functional.scaled_dot_product_attention(x, x, x)
        x = x + torch.randn_like(x)  # at: randn
        x = nn.functional.dropout(x)  # at: dropout
        x = x * random.random()  # at: python
        x = x * uniform(1, 2)  # at: by-name
        x = x * float(numpy.random.rand())  # at: numpy-rand
        x = x * float(numpy.random.default_rng(3).random())
        return x * float(numpy.random.default_rng().random())  # at: generator


class Odd(nn.Module):
    """Generators, comprehensions, recursion, a caught exception and in-place writes."""

    def forward(self, x: torch.Tensor, rows: list[torch.Tensor]) -> dict[str, Any]:
        x.add_(1)
        rows[0].mul_(0)
        parts = list(self.parts(x))
        total = sum(part.sum() for part in parts)
        try:
            self.refuse()
        except ValueError:
            total = total + 1
        return {"total": total, "depth": self.deep(x, 20), "square": [p * p for p in parts]}

    def parts(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for k in range(x.shape[0]):  # at: parts
            yield self.scale(x[k])

    def scale(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def refuse(self) -> None:
        raise ValueError

    def deep(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return x if n == 0 else self.deep(x, n - 1)


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 2:  # at: guarded
            x = x + 1
        try:
            x = x.view(2, 3)  # at: view
        finally:
            if x.dim() == 2:
                x = x + 0
        return x * 2


class Reshape(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        x = x.reshape(int(x.shape[0]) * 2, 2)  # at: reshape
        return torch.softmax(x, -1)


class Branchy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = torch.tanh(x)  # at: tanh
        else:
            x = torch.sigmoid(x)  # at: sigmoid
        return x + 1


class Crossed(nn.Module):
    """Two products of the same form in the same line, taken in one order or the other."""

    def __init__(self, swapped: bool) -> None:
        super().__init__()
        self.swapped = swapped

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = (y, x) if self.swapped else (x, y)
        return a - b  # at: crossed


def scale(x: torch.Tensor, factor: int) -> torch.Tensor:
    """Scripted by a test."""
    if bool(x.sum() > 0):
        x = x * factor  # at: scaled
    return x
