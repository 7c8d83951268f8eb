"""Small models, one hazard each; the tests name the lines by the comment `# here`."""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.nn import functional as F


def x23() -> tuple[torch.Tensor, ...]:
    return (torch.linspace(-1.0, 2.0, 6).reshape(2, 3),)


def x46() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(5)
    return (torch.randn(4, 6),)


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 4)

    def forward(self, x):
        return torch.relu(self.inner(x)), x.sum(-1) > 0


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # here
            return x * 2
        return x * 3


class Item(nn.Module):
    def forward(self, x):
        return x / (x.abs().max().item() + 1.0)  # here


class LiteralBatch(nn.Module):
    def forward(self, x):
        return x.reshape(2, -1) * 2  # here


class IntBatch(nn.Module):
    def forward(self, x):
        b = int(x.shape[0])  # here
        return x.reshape(b, -1).cumsum(0)


class DimBranch(nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:  # here
            return x * 2
        return x * 3


class UnrolledLoop(nn.Module):
    def forward(self, x):
        total = x[0]
        for i in range(1, x.shape[0]):  # here
            total = total + x[i]
        return total


class TensorOfSize(nn.Module):
    def forward(self, x):
        scale = torch.tensor([x.shape[0]])  # here
        return x * scale


class EagerFixed(nn.Module):
    def forward(self, x):
        return x.view(2, 3) * 2  # here


class Unsupported(nn.Module):
    def forward(self, x):
        y = torch.fft.fft(x).abs()  # here
        return y + torch.special.bessel_j0(x)  # and here


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.rand(3)  # here


class PythonNoise(nn.Module):
    def forward(self, x):
        return x * random.random()  # here


class LeftInTraining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.drop(self.inner(x))  # here


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1  # here
        return x * self.calls


class UnusedLength(nn.Module):
    def forward(self, x, steps):  # here
        return x * len(steps.tolist())


class Steps(nn.Module):
    def forward(self, x, steps):
        for _ in range(int(steps)):  # here
            x = x * 1.5
        return x


class Flag(nn.Module):
    def forward(self, x, double=False):  # here
        return x * 2 if double else x


class RepeatedIndex(nn.Module):
    def forward(self, x):
        index = torch.tensor([0, 0])
        return x.new_zeros(2, 3).index_add(0, index, x[:2]) + 1.0  # here


class ChosenAmongEqual(nn.Module):
    """Every row has the same score: which ones are chosen is no promise of `topk`."""

    def forward(self, x):
        chosen = torch.relu(x - 1000).sum(-1).topk(5).indices
        return x.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 3))


class ChosenAndWrong(nn.Module):
    """The same scores, of which only the values count; the error is another one."""

    def forward(self, x):
        chosen = torch.relu(x - 1000).sum(-1).topk(5).values
        index = torch.tensor([0, 0])
        return x.new_zeros(2, 3).index_add(0, index, x[0, :2]) + 1.0 + chosen.sum()


class NearestOfSaturated(nn.Module):
    """Of many numbers that are 1.0 but for their last digit, the first of the greatest."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(64, 3000)

    def forward(self, x):
        return torch.tanh(self.linear(x) * 20).argmax(-1)


class InverseOfNothing(nn.Module):
    """What is left of a sum that is zero but for rounding, and one by that."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        y = self.linear(x)
        return 1 / (y - y.mean(-1, keepdim=True)).sum(-1)


class NearestAndWrong(NearestOfSaturated):
    """The same beside a sum of which the export loses one addend."""

    def forward(self, x):
        return super().forward(x), x.new_zeros(2, 64).index_add(0, torch.tensor([0, 0]), x[:2]) / 1000


class CountAndNearest(NearestOfSaturated):
    """The same behind a Python number, which TorchScript gives back as a tensor."""

    def forward(self, x):
        return x.shape[0], super().forward(x)


class NearestWithoutDoubt(nn.Module):
    """The order of sums of which the export loses one addend, beside that of equal numbers."""

    def forward(self, x):
        return x.new_zeros(2, 64).index_add(0, torch.tensor([0, 0]), x[:2]).argsort(-1)


class Raises(nn.Module):
    def forward(self, x):
        raise ValueError("no")  # here


class Nested(nn.Module):
    def forward(self, batch):
        return batch["a"] + batch["b"][0] * 2


class TwoCauses(nn.Module):
    def forward(self, x):
        x = x - float(x.detach().numpy().mean())  # here
        if x.std() > 1.5:  # and here
            x = x * 2
        return x


class PlainList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [nn.Linear(3, 3), nn.BatchNorm1d(3)]  # here

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class TwoOutputsOneDropped(nn.Module):
    def forward(self, x):
        return {"a": x * 2, "none": None, "b": (x + 1, x.shape[1])}


def with_steps() -> tuple[torch.Tensor, ...]:
    return (*x23(), torch.tensor(3))


def with_list() -> tuple[torch.Tensor, ...]:
    return (*x23(), torch.tensor([1, 2]))


def vary_list(sizes, seed, mode):
    return torch.full((sizes.get("batch", 2), 3), float(seed + 1)), torch.arange(1 + seed % 4)


def vary_steps(sizes, seed, mode):
    return torch.full((sizes.get("batch", 2), 3), float(seed + 1)), torch.tensor(1 + seed % 5)


def many_rows() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 50, 3),)


def wide_rows() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(8, 64),)


def with_flag() -> tuple[object, ...]:
    return (*x23(), True)


def vary_flag(sizes, seed, mode):
    return torch.full((sizes.get("batch", 2), 3), float(seed + 1)), seed % 2 == 0


def nested() -> tuple[object, ...]:
    return ({"a": torch.ones(2, 3), "b": [torch.ones(2, 3)]},)


def left_in_training() -> nn.Module:
    return LeftInTraining()


def evaluated_plain_list() -> nn.Module:
    return PlainList().eval()


def dropout_without_flag() -> nn.Module:
    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5)

    return Net().eval()


class NestedBranch(nn.Module):
    def forward(self, batch, scale=1.0):
        if batch["a"].sum() > 0:  # here
            return batch["a"] * scale
        return batch["b"][0]


def nested_by_name() -> dict[str, object]:
    return {"batch": {"a": torch.ones(2, 3), "b": [torch.ones(2, 3)]}, "scale": 2.0}


def vary_nested(sizes, seed, mode):
    sign = -1.0 if seed % 2 else 1.0
    return {"batch": {"a": torch.full((2, 3), sign), "b": [torch.ones(2, 3) * seed]}, "scale": 2.0}


class Shift:
    """An argument that no script can spell."""

    amount = 3.0


class Opaque(nn.Module):
    def forward(self, x, shift):
        return x + shift.amount * float(x.max())  # here


def opaque() -> tuple[object, ...]:
    return (*x23(), Shift())
