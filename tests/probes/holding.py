"""Small models that keep values of the example; the tests name the lines by the comments."""

from __future__ import annotations

import torch
from torch import nn


class Harmless(nn.Module):
    """Its guard reads a value that changes with the input, and never decides anything."""

    def forward(self, x):
        total = float(x.sum())
        if total > 1e30:
            raise ValueError("too large")
        scale = float(x.abs().max())  # here
        return x / (scale + 1.0)


class Joint(nn.Module):
    def forward(self, x):
        mean = x.mean().item()  # here
        most = x.max().item()  # here
        return x * mean + most


class Rows(nn.Module):
    def forward(self, x):
        return x.reshape(int(x.shape[0]), -1) * 2  # here


class Arm(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # here
            return x * 2
        return x * 3


class Tokens(nn.Module):
    """A list of numbers cannot be held."""

    def forward(self, x):
        first = x[0].tolist()  # here
        return x * first[0]


def x23() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 6).reshape(2, 3),)
