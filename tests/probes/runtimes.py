"""Models on which runtimes differ from each other; the tests name the lines by the comment `# here`."""

from __future__ import annotations

import torch
from torch import nn


class Wide(nn.Module):
    """OpenVINO keeps 64-bit integers in 32 bits."""

    def forward(self, ids):
        return ids * 3_000_000_000 + 1  # here


class Determinant(nn.Module):
    """OpenVINO has no translation of Det."""

    def forward(self, x):
        y = x * 2
        return torch.relu(torch.linalg.det(y))  # here


class Brain(nn.Module):
    """ONNX Runtime cannot multiply bfloat16 on the CPU; OpenVINO can."""

    def forward(self, x):
        return x * 2 + 1  # here


class Gate(nn.Module):
    """Wrong in every runtime: the graph is."""

    def forward(self, x):
        if x.sum() > 0:  # here
            return x * 2
        return x * 3


class Split(nn.Module):
    """Exports at every opset with TorchScript, and with dynamo from 18 on."""

    def forward(self, x):
        left, right = (x * 2).chunk(2, dim=-1)
        return left * torch.sigmoid(right)


class Unrolled(nn.Module):
    """The loop is over an axis of fixed length: right, and 24 copies of its body."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        state = x[:, 0] * 0
        for step in range(x.shape[1]):
            state = torch.tanh(self.inner(x[:, step]) + 0.5 * state - 0.1)  # here
        return state


class Stack(nn.Module):
    """As many nodes of one line, each of a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.LayerNorm(4)) for _ in range(24))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Again(nn.Module):
    """One layer 24 times, whatever the length of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        for _ in range(24):
            x = torch.tanh(self.inner(x) + 0.5 * x - 0.1) * 0.9
        return x


def long() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 24, 4, generator=torch.Generator().manual_seed(1)),)


class Tied(nn.Module):
    """TorchScript keeps the table and its transposed; dynamo keeps one."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(600, 512)
        self.head = nn.Linear(512, 600, bias=False)
        self.head.weight = self.table.weight

    def forward(self, words):
        hidden = torch.tanh(self.table(words))
        return self.head(hidden)  # here


class Untied(Tied):
    """As large, and every weight is one of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(512, 600, bias=False)


def words() -> tuple[torch.Tensor, ...]:
    return (torch.arange(6).reshape(2, 3),)


class Slow(nn.Module):
    """ONNX Runtime computes these value by value, PyTorch many at a time."""

    def forward(self, x):
        y = x * 2
        return y.tan().sin().cos().tan()  # here


def wide() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 1.0, 65536).reshape(64, 1024),)


def ids() -> tuple[torch.Tensor, ...]:
    return (torch.arange(6).reshape(2, 3),)


def square() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(1)),)


def brain() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 8).reshape(2, 4).to(torch.bfloat16),)


def x24() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 8).reshape(2, 4),)
