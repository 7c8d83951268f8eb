"""Models whose right exports have swallowed something of their inputs, and neighbours of which none has."""

import torch
from torch import nn


def pixels() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 1, 420, 440),)


def both() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return torch.randn(2, 6), torch.randn(2, 6)


class Grid(nn.Module):
    """The table is as large as the image."""

    def forward(self, x):
        height, width = x.shape[-2:]
        sides = torch.linspace(-1, 1, height), torch.linspace(-1, 1, width)
        down, across = torch.meshgrid(*sides, indexing="ij")  # here
        return x + torch.stack([down, across]).sum(0)


class Table(nn.Module):
    """As large, and nothing of it comes from the image."""

    def forward(self, x):
        across = torch.linspace(-1, 1, 440)[None].expand(420, 440)
        return x[..., :420, :440] + across


class Kept(nn.Module):
    """A buffer of the same size is a weight like any other."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("grid", torch.linspace(-1, 1, 440)[None].expand(420, 440).clone())

    def forward(self, x):
        return x + self.grid[: x.shape[-2]]


class Ignoring(nn.Module):
    """The second input changes nothing."""

    def forward(self, x, weight):  # here
        return x * 2


class Using(nn.Module):
    def forward(self, x, weight):
        return x * weight
