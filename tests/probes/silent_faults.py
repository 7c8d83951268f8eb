"""What exporters do without a word, one model each; the lines at fault are marked with the exporter that errs there."""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.nn import functional as F


def x26() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 6),)


def x16() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(1, 6),)


def long() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 24, 4),)


def masked() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    return {"x": torch.randn(2, 2, 4, 8), "mask": torch.ones(2, 4, dtype=torch.bool)}


def weighted() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    return {"x": torch.randn(2, 6), "weight": torch.ones(2, 6)}


class LengthBranch(nn.Module):
    def forward(self, x):
        if x.shape[1] > 32:  # both
            return x[:, :32].mean(1)
        return x.mean(1)


class ManyBranch(nn.Module):
    """A batch of one takes the arm without normalisation."""

    def forward(self, x):
        if x.shape[0] > 1:  # both
            x = x - x.mean(0)
        return x * 2


class Remainder(nn.Module):
    def forward(self, x):
        left = x.shape[1] % 4
        if left:  # both
            x = F.pad(x, (0, 0, 0, 4 - left))
        return x.mean(1)


class DerivedEquality(nn.Module):
    def forward(self, x):
        if x.shape[1] // 8 == 3:  # both
            return x.mean(1)
        return x.amax(1)


class DerivedInt(nn.Module):
    def forward(self, x):
        half = int(x.shape[1] * 0.5)  # both
        return x[:, :half].mean(1)


class Unrolled(nn.Module):
    """No tracer warning tells of this loop."""

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for step in range(x.shape[1]):  # both
            state = torch.tanh(state + x[:, step])
        return state


class ActiveDropout(nn.Module):
    """ONNX Runtime's optimizer takes the active dropout away; without it every run differs."""

    def forward(self, x):
        return F.dropout(x, 0.5, training=True)  # both


class NeverEvaluated(nn.Module):
    """Left in training mode: TorchScript's exporter calls eval(), dynamo's does not."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)  # dynamo


class OwnEval(nn.Module):
    """An eval() that leaves its dropout in training."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.body = nn.Linear(6, 6)

    def eval(self):
        self.body.eval()
        return self

    def forward(self, x):
        return self.drop(self.body(x))  # both


class LayerDrop(nn.Module):
    """Skips a layer by chance, in eval mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 6)

    def forward(self, x):
        if random.random() < 0.5:  # both
            return x
        return self.body(x)


class ThroughView(nn.Module):
    """A write through a view, which TorchScript loses."""

    def forward(self, x):
        doubled = x * 2.0
        doubled.transpose(0, 1)[0].zero_()  # torchscript
        return torch.tanh(doubled)


class RepeatedRows(nn.Module):
    """Indices that repeat: TorchScript adds one of them."""

    def forward(self, x):
        rows = torch.zeros(x.shape[0], dtype=torch.long)
        return torch.zeros(4, 6).index_add(0, rows, x)  # torchscript


class BatchStatistics(nn.Module):
    """Normalisation by the batch in eval mode, which dynamo's translation answers with the running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.full((6,), 3.0))
        self.register_buffer("variance", torch.full((6,), 2.0))

    def forward(self, x):
        return F.batch_norm(x, self.mean.clone(), self.variance.clone(), training=True)  # dynamo


class DroppedEpsilon(nn.Module):
    """dynamo drops an epsilon, and every answer is NaN: the condition on the batch has no part in that."""

    def forward(self, x):
        x = x.contiguous() if x.shape[0] > 1 else x
        h = torch.relu(x) * 0
        return h / (h.sum(1, keepdim=True) + 1e-15) + x  # dynamo


class Squeezed(nn.Module):
    """The dimension that is 1 on the example is gone for ever."""

    def forward(self, x):
        return x.squeeze(0) * 2  # dynamo


class Unflattened(nn.Module):
    def forward(self, x):
        grid = x.unflatten(1, (2, 3))
        batch, _, _ = grid.shape
        return torch.zeros(batch, 6) + x.mean()  # torchscript


class LostMask(nn.Module):
    """The example's weights are all one, so that the path it takes does not read them."""

    def forward(self, x, weight):
        if bool((weight == 1).all()):  # both
            return x * 2
        return x * weight


class Attention(nn.Module):
    """A row that is masked as a whole: PyTorch answers zeros, dynamo's translation the mean of the values."""

    def forward(self, x, mask):
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None, None, :])  # dynamo


class Hooked(nn.Module):
    """What a hook does is in no forward."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.body.register_forward_hook(self._clip)

    def _clip(self, module, inputs, output):
        if output.abs().max() > 1:  # both
            return output / output.abs().max()
        return output

    def forward(self, x):
        return self.body(x)


class Base(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # both
            return x * 2
        return x * 3


class Inherited(Base):
    """The fault is in the forward of the base class."""


class Warmed(nn.Module):
    """A cache for the example's batch, warmed before the export, which only grows when it is asked for more."""

    def __init__(self) -> None:
        super().__init__()
        self.table = None

    def forward(self, x):
        if self.table is None or self.table.shape[0] < x.shape[0]:  # both
            self.table = torch.arange(x.shape[0], dtype=torch.float32)[:, None]
        return x + self.table[: x.shape[0]]


def warmed() -> nn.Module:
    model = Warmed()
    model(torch.zeros(2, 6))
    return model


class Accumulating(nn.Module):
    """Each call moves a buffer that the answer hangs on."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(6))

    def forward(self, x):
        self.total += x.mean(0)  # both
        return x - self.total


class Sharpened(nn.Module):
    """Each call changes a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(1.5)  # both
        return x * self.weight


class LostFlag(nn.Module):
    """A Python number that the caller passes is no input of the graph."""

    def forward(self, x, double):  # both
        return x * 2 if double else x + 1


def flagged() -> dict[str, object]:
    return {"x": x26()[0], "double": False}


def other_flag(sizes: dict[str, int], seed: int, mode: str) -> dict[str, object]:
    torch.manual_seed(seed)
    return {"x": torch.randn(sizes["batch"], 6), "double": True}


class PythonDefault(nn.Module):
    """TorchScript makes an input of the default, and keeps the example's way through the code."""

    def forward(self, x, scale=2.0):
        return x * scale


class TracingOnly(nn.Module):
    """The fixed way is behind `is_tracing()`, which dynamo does not set."""

    def forward(self, x):
        if torch.jit.is_tracing():
            return x * torch.where(x.sum() > 0, 2.0, 3.0)
        if x.sum() > 0:  # dynamo
            return x * 2.0
        return x * 3.0


class ExportingOnly(nn.Module):
    """The fixed way is behind `is_exporting()`, which TorchScript does not set."""

    def forward(self, x):
        if torch.compiler.is_exporting():
            return x * torch.where(x.sum() > 0, 2.0, 3.0)
        if x.sum() > 0:  # torchscript
            return x * 2.0
        return x * 3.0


class FrozenBesideBranch(nn.Module):
    """A frozen size stops every other length; that one of 1 goes through another arm has no part in it.

    The mask that is not given is an argument of None to the tracer.
    """

    def forward(self, x, mask=None):
        causal = x.shape[1] > 0
        length = int(x.shape[1])  # torchscript
        if x.shape[1] == 1 and causal:
            causal = False
        h = torch.sin(x).reshape(-1, length, 1) * 2
        return h if mask is None else h * mask


def scale_of(x):
    """Half of what is long; TorchScript keeps the arm of the example, which stops nothing."""
    return 0.5 if x.shape[1] > 5 else 0.25


class FrozenBesideBound(nn.Module):
    """A frozen size stops every other length; the bound of a slice, of the same number, is computed by the graph."""

    def forward(self, x):
        length = int(x.shape[1])  # torchscript
        h = torch.sin(x)[:, -x.shape[1] :]
        return h.reshape(-1, length, 1) * 2


class LoopBesideBranch(nn.Module):
    """Rows that a shorter input does not have stop the run in the loop, whatever the branch before it does."""

    def forward(self, x):
        h = torch.sin(x) * scale_of(x)
        total = h[:, 0] * 0
        for step in range(x.shape[1]):  # the loop
            total = total + h[:, step]
        return total


class FrozenTwice(nn.Module):
    """A size that is frozen from both axes stops every other one, at the same node; the arm for a length of 1 does not.

    With many sizes that fail, not every one is traced.
    """

    def forward(self, x):
        rows, columns = (int(size) for size in x.shape)  # torchscript
        h = torch.sin(x).reshape(rows * columns, 1)
        if x.shape[1] == 1:
            h = h + 1
        return h * 2
