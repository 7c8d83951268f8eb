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
