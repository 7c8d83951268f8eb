"""Models whose control flow is a function of torch, and one of complex inputs; `# here` marks what is refused."""

from __future__ import annotations

import torch
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Cond(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        h = self.inner(x)
        return torch.cond(h.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (h,))  # here


class Nested(nn.Module):
    def forward(self, x):
        def inner(a):
            return torch.cond(a.mean() > 1, lambda b: b * 2, lambda b: b - 1, (a,))

        return torch.cond(x.sum() > 0, inner, lambda a: a * 3, (x,))  # here


class Scan(nn.Module):
    def forward(self, x):
        def add(carry, row):
            return carry + row, carry * 2

        return scan(add, torch.zeros_like(x[:, 0]), x, dim=1)[1]  # here


class While(nn.Module):
    def forward(self, x):
        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x))[1]  # here


class Map(nn.Module):
    def forward(self, x):
        return map_rows(lambda row, factor: row * factor, x, torch.tensor(2.0))  # here


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.view_as_real(x * 2)  # here


def x23() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 6).reshape(2, 3),)


def waves() -> tuple[torch.Tensor, ...]:
    return (torch.complex(*x23(), *x23()),)
