"""Models with five causes at five lines each; the tests name the lines by the comments at their ends."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def x26() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 6),)


def x66() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(6, 6),)


def x285() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 8, 5),)


def x268() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 6, 8),)


def x284() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 8, 4),)


class Operators(nn.Module):
    """Five operators that neither exporter can lower."""

    def forward(self, x):
        middle = x.median()  # here
        inverse = torch.linalg.inv(x @ x.T + torch.eye(x.shape[0]))  # here
        basis = torch.linalg.qr(x)[0]  # here
        second = torch.kthvalue(x, 2)[0]  # here
        singular = torch.linalg.svd(x)[1]  # here
        return middle + inverse.sum() + basis.sum() + second.sum() + singular.sum()


class Mixed(nn.Module):
    """What each exporter meets: operators, a lowering that fails, and values frozen on the way."""

    def forward(self, x):
        if x.sum() > 0:  # both
            x = x * 2
        spectrum = torch.fft.rfft(x).real  # torchscript
        middle = torch.quantile(x, 0.5, dim=1, keepdim=True)  # torchscript
        pooled = F.adaptive_avg_pool2d(x.reshape(-1, 1, 2, 3), 2)  # torchscript
        scaled = x / (x.abs().max().item() + 1.0)  # torchscript
        batch = int(x.shape[0])  # torchscript
        return spectrum.sum() + middle.sum() + pooled.sum() + scaled.reshape(batch, -1)


class Reads(nn.Module):
    """Reads of data and operators in turn: dynamo stops at each of them."""

    def forward(self, x):
        if x.sum() > 0:  # here
            x = x * 2
        inverse = torch.linalg.inv(x.T @ x + torch.eye(6))  # here
        for _ in range(min(int(x.abs().max()), 4)):  # here
            x = x + 1
        positive = x[x > 0]
        if positive.shape[0] > 5:  # here
            x = x + positive.sum()
        total = float(x.detach().numpy().sum())  # here
        return inverse.sum() + x + x.median() + total  # here


class Sizes(nn.Module):
    """A branch on data in front of a condition on a size, and of what fixes it."""

    def forward(self, x):
        if x.sum() > 0:  # here
            x = x * 2
        fixed = torch.zeros(1)
        if x.shape[0] > 4:  # here
            fixed = fixed * 2
        for _ in range(x.shape[0]):  # here
            fixed = fixed + 1
        return x + fixed


class SurvivedSize(nn.Module):
    """`int(size)` fails in one of dynamo's captures and is carried along as a symbol in the other."""

    def forward(self, x):
        if x.sum() > 0:  # here
            x = x * 2
        batch = int(x.shape[0])
        return x.reshape(batch, -1)


class Guarded(nn.Module):
    """The refusal is one; the rest is fine for dynamo, though eager's path and values change."""

    def forward(self, x):
        peak = x.abs().max().item()
        if torch.compiler.is_exporting():
            scale = torch.ones(())
        elif x.sum() > 0:
            scale = torch.ones(()) * 1.0
        else:
            scale = torch.ones(())
        return x * scale + peak + x.median()  # here


class Chance(nn.Module):
    """Nothing can be compared before dropout is still; behind it the branch and the number are frozen."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)

    def forward(self, x):
        x = nn.functional.dropout(self.body(x), 0.3)  # chance
        if x.abs().mean() > 1:  # here
            x = x * 0.5
        return x + len(x.tolist())  # here


class Drawn(nn.Module):
    """What is drawn is no dropout: nothing holds it still."""

    def forward(self, x):
        x = x + torch.rand_like(x)  # chance
        if x.mean() > 1e3:
            x = x * 0.5
        return x


class GuardedTrace(nn.Module):
    """As libraries do it: the branch on data is not for the tracer. The operator stops it all the same."""

    def forward(self, x):
        if not torch.jit.is_tracing() and x.sum() > 0:
            x = x * 1.0
        return x + torch.linalg.inv(x.T @ x + torch.eye(6)).sum()  # here


class OneRow(nn.Module):
    """Carried past the branch, every copy asks whether the batch is 1; the exporter itself never does."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 6)

    def forward(self, x):
        state = torch.zeros_like(x)
        for _ in range(3):
            state = self.cell(x, state)
            if (state.argmax(-1) == 2).all():  # here
                break
        return state


def helper(x):
    return torch.median(x, 1, keepdim=True).values  # helped


class Helped(nn.Module):
    """The operator that dynamo cannot translate stands in a function that forward calls."""

    def forward(self, x):
        return x - helper(x)


def one_row():
    return (torch.randn(1, 6),)


_KNOWN: dict[tuple[torch.dtype, ...], str] = {}


class Remembering(nn.Module):
    """The first run of all fills a memo outside the model: no input decides which way it goes there."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = (x.dtype,)
        if key not in _KNOWN:  # only the first run of all
            _KNOWN[key] = str(x.dtype)
        return torch.linalg.inv(x @ x.T + torch.eye(x.shape[0]))  # here


class Registering(nn.Module):
    """Keeps what it computes in a buffer that is none before: dynamo's capture leaves a tensor without data in it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.register_buffer("bias", torch.arange(x.shape[0]) * 1.0, persistent=False)  # here
        return x + self.bias[:, None]


class Windows(nn.Module):
    """TorchScript turns the windows the wrong way; ONNX Runtime only notices at the sum that they do not fit into."""

    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(3, 5, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        windows = (x * 2).unfold(-2, 4, 2)  # here
        scaled = windows * 3
        return scaled + self.position


class Transposed(nn.Module):
    """TorchScript puts the windows of a negative axis in another order; what is read of them is a transposed view."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 6)
        self.mix = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        windows = (x * 2).unfold(-2, 4, 2)  # here
        turned = windows.transpose(-2, -3).contiguous()
        return self.mix(self.project(turned).transpose(-1, -2))


class Masked(nn.Module):
    """`&` and `|` of masks have lowerings under another name; the operator after them has none."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = (x > 0) & (x < 2) | (x < -1) ^ (x > 3)
        return torch.where(mask, x, 0.0) + torch.histc(x, bins=6, min=0, max=1)  # here


class FiveDimensions(nn.Module):
    """The translation of attention to ONNX takes four dimensions."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.reshape(x.shape[0], 1, 2, 4, 4) * 2
        h = nn.functional.scaled_dot_product_attention(h, h, h)  # here
        return h.flatten(1) + 1


class Merged(nn.Module):
    """TorchScript makes one transposition of two, and a wrong one: it does not know how many dimensions there are."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(8, 8)
        self.query = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = torch.repeat_interleave(x, repeats=x.shape[1] % 2 + 2, dim=-2)
        rows = torch.cat([x, rows.reshape(x.shape[0], -1, 8)], dim=-2)
        mask = torch.zeros_like(rows[..., 0])[:, None, None]
        keys = self.key(rows).view(x.shape[0], -1, 2, 4).transpose(1, 2)
        queries = self.query(rows).view(x.shape[0], -1, 2, 4).transpose(1, 2)
        scores = torch.matmul(queries, keys.transpose(-1, -2)) / 2  # here
        return (scores + mask).softmax(-1)


class ThreeDimensions(nn.Module):
    """Attention without heads, twice: a translation that raises. The median between them has none."""

    def forward(self, x):
        y = F.scaled_dot_product_attention(x, x, x)  # here
        y = y * 2 + torch.kthvalue(y, 2)[0].mean()  # here
        return F.scaled_dot_product_attention(y, x, x) + y  # here


class Halves(nn.Module):
    """Cut along a dynamic axis: the translation works, and the exporter's optimizer trips over it."""

    def forward(self, x):
        y = x * 2
        one, other = y.chunk(2, dim=0)  # here
        return one - other
