"""Small models whose tests no usual variation moves; the tests name the lines by the comment `# here`."""

from __future__ import annotations

import torch
from torch import nn


def x23() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 6).reshape(2, 3),)


def masked() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    mask = torch.rand(3, 12) < 0.5
    return torch.randn(3, 12), mask


def counted() -> tuple[torch.Tensor, ...]:
    return (*x23(), torch.tensor(3))


def tokens() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randint(0, 50, (2, 6)),)


class FarThreshold(nn.Module):
    def forward(self, x):
        if x.abs().max() > 1e9:  # here
            return x * 2
        return x * 3


class MeanThreshold(nn.Module):
    def forward(self, x):
        y = x * 0.01
        if y.mean() > 3e6:  # here
            return x * 2
        return x * 3


class Window(nn.Module):
    """A test that holds in a narrow window which neither the example nor any scale of it meets."""

    def forward(self, x):
        middle = x.sum()
        if (middle > 17.5) & (middle < 17.6):  # here
            return x * 2
        return x * 3


class ShareOfMask(nn.Module):
    def forward(self, x, mask):
        if mask.sum() == 7:  # here
            return x * 2
        return x.masked_fill(mask, 0.0)


class Count(nn.Module):
    def forward(self, x, steps):
        if steps > 100:  # here
            return x * 2
        return x * 3


class NumberThreshold(nn.Module):
    def forward(self, x):
        if x.max().item() > 123456:  # here
            return x * 2
        return x * 3


class ScaledByNumber(nn.Module):
    def forward(self, x):
        return x * x.max().item()  # here


class Unreachable(nn.Module):
    def forward(self, x):
        if x.square().sum() < 0:  # here
            return x * 2
        return x * 3


class UnreachableAlike(nn.Module):
    def forward(self, x):
        y = x * 3
        if x.square().sum() < 0:  # here
            y = y * 1
        return y


class UnreachableRaising(nn.Module):
    def forward(self, x):
        if x.square().sum() < 0:  # here
            x = x.reshape(5, 7)
        return x * 3


class Checked(nn.Module):
    """A check of its input: PyTorch refuses what would take the other way."""

    def forward(self, x):
        if x.abs().max() > 4321.0:
            raise ValueError("too large")
        return x * 3


class SilentTokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Embedding(50, 4)

    def forward(self, ids):
        h = self.inner(ids)
        if (ids == 17).sum() > 4:  # here
            h = h * 2
        return h


class Untouched(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


class ColumnOfMany(nn.Module):
    """Wrong wherever one element is large: the counterexample needs one row of it and no more."""

    def forward(self, x):
        if x.abs().max() > 50:  # here
            return x * 2
        return x * 3


def wide() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    return (torch.randn(4, 5),)


def vary_sometimes(sizes, seed, mode):
    if mode == "negative":
        raise KeyError("negative")
    return torch.full((sizes.get("batch", 2), 3), float(seed + 1))


class Small(nn.Module):
    def forward(self, x):
        if x.max() > 3.5:  # here
            return x * 2
        return x * 3


class StopsWhenAllHaveEnded(nn.Module):
    """A decoder: the rows rarely end together, but one row alone does."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)  # of these weights no usual variation ends early
        self.cell = nn.GRUCell(4, 4)
        self.out = nn.Linear(4, 12)

    def forward(self, x):
        state, steps = x, []
        done = torch.zeros(x.shape[0], dtype=torch.bool)
        for _ in range(5):
            state = self.cell(state, state)
            steps.append(self.out(state))
            done = done | (steps[-1].argmax(-1) == 0)
            if done.all():  # here
                break
        return torch.stack(steps, 1)


class Bright(nn.Module):
    """Zeros take the other branch, and come to the same in it."""

    def forward(self, x):
        if x.max() > 1:  # here
            x = x / 255
        return x * 2


def pixels() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(0.0, 255.0, 600).reshape(2, 300),)


def rows() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(12, 4),)


class MeanOfRows(nn.Module):
    """Divides by lengths: a length of 0 would be another fault than the branch."""

    def forward(self, x, lengths):
        mean = x.sum(1) / lengths
        if mean.max() > 1000:  # here
            return -mean
        return mean * 3


class Normed(nn.Module):
    """The arm of the example divides by a norm, which is 0 where everything is."""

    def forward(self, x):
        if x[:, 0].max() > 1000:  # here
            return x * 2
        return (x + 1) / x[:, 1:].norm()


def measured() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return torch.randn(2, 5), torch.tensor([5, 3])


class LimitedLength(nn.Module):
    """Far from every size that is tried unasked."""

    def __init__(self, limit=37):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        if x.shape[0] < self.limit:  # here
            return x * 2
        return x * 3


class LimitedInOneLine(nn.Module):
    def forward(self, x):
        return x * (2 if x.shape[0] <= 40 else 3)  # here


class InPartsWhereLong(nn.Module):
    """The other arm computes the same."""

    def forward(self, x):
        if x.shape[0] > 24:  # here
            return torch.cat([part * 2 for part in x.split(8)])
        return x * 2


class RefusesLong(nn.Module):
    def forward(self, x):
        if x.shape[0] > 24:  # here
            raise ValueError("at most 24")
        return x * 2
