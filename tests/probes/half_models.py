"""Models in half precision: right ones, one whose numbers go wrong, and values that are no numbers."""

from __future__ import annotations

import torch
from torch import nn


def x26(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return (torch.randn(2, 6).to(dtype),)


def half() -> tuple[torch.Tensor, ...]:
    return x26(torch.float16)


def brain() -> tuple[torch.Tensor, ...]:
    return x26(torch.bfloat16)


def full() -> tuple[torch.Tensor, ...]:
    return x26(torch.float32)


def rows() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    mask = torch.ones(2, 4, dtype=torch.bool)
    mask[1] = False
    return {"x": torch.randn(2, 4, 6), "mask": mask}


class Body(nn.Module):
    """Right in both exporters, wherever there are kernels."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.second = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.norm(self.first(x)))).softmax(-1)


class Planted(nn.Module):
    """Rows that add to one: TorchScript keeps one of them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        rows = torch.zeros(x.shape[0], dtype=torch.long)
        total = x.new_zeros(4, 6).index_add(0, rows, hidden)  # torchscript
        return self.second(total)


class Overflow(nn.Module):
    """Beyond float16 on the way, within it at the end; ONNX Runtime computes the mean in float32."""

    def forward(self, x):
        return (x * 200).pow(2).mean(-1)


class FullyMasked(nn.Module):
    """A row that is masked as a whole is NaN in PyTorch, and in ONNX Runtime too."""

    def forward(self, x, mask):
        scores = (x @ x.transpose(-1, -2)).masked_fill(~mask[:, None, :], float("-inf"))
        return scores.softmax(-1) @ x, scores


class SwallowedNaN(nn.Module):
    """The largest of numbers with NaN among them is NaN in PyTorch, and a number in ONNX Runtime."""

    def forward(self, x):
        logarithms = torch.log(x)
        return logarithms.amax(-1)  # both


def half_body() -> nn.Module:
    return Body().half().eval()


def brain_body() -> nn.Module:
    return Body().to(torch.bfloat16).eval()


def half_planted() -> nn.Module:
    return Planted().half().eval()


def brain_planted() -> nn.Module:
    return Planted().to(torch.bfloat16).eval()


class Attending(nn.Module):
    """TorchScript writes the scale of an attention in bfloat16 as a complex number."""

    def forward(self, x):
        heads = (x * 2).reshape(-1, 1, 2, 3)
        heads = nn.functional.scaled_dot_product_attention(heads, heads, heads, scale=0.5)  # torchscript
        return heads.flatten(1)
