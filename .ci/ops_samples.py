"""Calls that torch's own operator samples lack, for `measure_ops.py`: what models write, and known traps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.utils import rnn

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def extra() -> dict[str, tuple[list[str], Callable[[], list[Call]]]]:
    """Identity → public names, and a function that makes their calls."""
    found: dict[str, tuple[list[str], Callable[[], list[Call]]]] = {}
    for names, make in TABLE:
        found[f"extra:{names.split()[0]}"] = (names.split(), make)
    return found


def one(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[], list[Call]]:
    """A single call."""
    return lambda: [(function, args, kwargs)]


def each(*calls: Callable[[], list[Call]]) -> Callable[[], list[Call]]:
    """Several calls of one operator."""
    return lambda: [call for make in calls for call in make()]


def X(*shape: int) -> torch.Tensor:
    """A reproducible float32 tensor with both signs in it."""
    count = int(torch.tensor(shape).prod())
    return torch.sin(torch.arange(1, count + 1, dtype=torch.float32)).reshape(shape) * 3


def write(x: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    """`x[index] = value` on a copy of x."""
    x = x.clone()
    x[index] = value
    return x


def inplace(name: str) -> Callable[..., torch.Tensor]:
    """The in-place method `name` on a copy of its tensor."""
    return lambda x, *args: getattr(x.clone(), name)(*args)


class Packed(torch.nn.Module):
    """Pack, a recurrent layer, and pad again."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 5, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Sequences of shape (batch, time, 3) and their lengths → (batch, time, 5)."""
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


def count_up(x: torch.Tensor) -> Any:
    """A `while_loop` that doubles x until its sum is large."""
    return torch.while_loop(lambda v: v.sum() < 100.0, lambda v: (v * 2.0,), (x,))[0]


L = torch.tensor
TABLE: list[tuple[str, Callable[[], list[Call]]]] = [
    ("torch.Tensor.detach torch.detach", one(torch.Tensor.detach, X(2, 3))),
    ("torch.Tensor.data", one(lambda x: x.data * 2, X(2, 3))),
    ("torch.Tensor.type_as", one(torch.Tensor.type_as, L([1, 2]), X(3))),
    ("torch.Tensor.cpu", one(lambda x: x.cpu() + 1, X(2, 3))),
    ("torch.Tensor.copy_", each(one(inplace("copy_"), X(2, 3), X(2, 3)), one(inplace("copy_"), X(2, 3), X(1, 3)))),
    ("torch.Tensor.fill_diagonal_", one(inplace("fill_diagonal_"), X(3, 3), 1.0)),
    ("torch.Tensor.uniform_", one(inplace("uniform_"), X(3, 3))),
    ("torch.Tensor.exponential_", one(inplace("exponential_"), X(3, 3))),
    ("torch.Tensor.random_", one(inplace("random_"), X(3, 3))),
    ("torch.Tensor.T", one(lambda x: x.T, X(2, 3))),
    ("torch.Tensor.mT", each(one(lambda x: x.mT, X(2, 3)), one(lambda x: x.mT, X(2, 3, 4)))),
    (
        "torch.Tensor.__getitem__",
        each(
            one(lambda x, i: x[i], X(4, 3), L([0, 2, 2])),
            one(lambda x, m: x[m], X(4, 3), L([True, False, True, False])),
            one(lambda x: x[:, None, ::2], X(4, 3)),
            one(lambda x: x[..., -1], X(4, 3)),
            one(lambda x, i, j: x[i, j], X(4, 3), L([0, 2]), L([1, 1])),
        ),
    ),
    (
        "torch.Tensor.__setitem__",
        each(
            one(lambda x: write(x, 0, 1.0), X(4, 3)),
            one(lambda x, v: write(x, (slice(None), slice(1, 2)), v), X(4, 3), X(4, 1)),
            one(lambda x, m: write(x, m, 0.0), X(4, 3), L([True, False, True, False])),
            one(lambda x, i, v: write(x, i, v), X(4, 3), L([0, 2]), X(2, 3)),
        ),
    ),
    ("torch.hann_window", one(lambda x: x * torch.hann_window(4), X(2, 4))),
    ("torch.hamming_window", one(lambda x: x * torch.hamming_window(4), X(2, 4))),
    ("torch.blackman_window", one(lambda x: x * torch.blackman_window(4), X(2, 4))),
    ("torch.bartlett_window", one(lambda x: x * torch.bartlett_window(4), X(2, 4))),
    ("torch.kaiser_window", one(lambda x: x * torch.kaiser_window(4), X(2, 4))),
    ("torch.fft.fftfreq", one(lambda x: x * torch.fft.fftfreq(4), X(2, 4))),
    ("torch.fft.rfftfreq", one(lambda x: x * torch.fft.rfftfreq(6), X(2, 4))),
    ("torch.tensor", one(lambda x: x * torch.tensor([1.0, 2.0, 3.0]), X(2, 3))),
    ("torch.as_tensor", one(lambda x: torch.as_tensor(x) * 2, X(2, 3))),
    ("torch.chain_matmul", one(torch.chain_matmul, X(2, 3), X(3, 4), X(4, 2))),
    ("torch.vander", one(torch.vander, X(4))),
    ("torch.rand", one(lambda x: x + torch.rand(2, 3), X(2, 3))),
    ("torch.randperm", one(lambda x: x[torch.randperm(4)], X(4, 3))),
    ("torch.range", one(lambda x: x * torch.range(1, 3), X(2, 3))),
    ("torch.poisson", one(torch.poisson, X(2, 3).abs())),
    ("torch.binomial", one(torch.binomial, X(2, 3).abs().ceil(), X(2, 3).abs() / 4)),
    ("torch.slogdet torch.Tensor.slogdet", one(torch.slogdet, X(3, 3))),
    ("torch.threshold", one(torch.threshold, X(2, 3), 0.5, 0.0)),
    ("torch.norm_except_dim", one(torch.norm_except_dim, X(2, 3), 2, 0)),
    ("torch.dropout", one(torch.dropout, X(2, 3), 0.5, False)),
    ("torch.embedding_bag", one(torch.embedding_bag, X(5, 3), L([1, 2, 4]), L([0, 2]))),
    ("torch.index_add torch.Tensor.index_add torch.Tensor.index_add_", each(
        one(torch.index_add, X(4, 3), 0, L([0, 2]), X(2, 3)),
        one(torch.index_add, X(4, 3), 0, L([0, 0, 2]), X(3, 3)),
    )),
    ("torch.floor_divide torch.Tensor.floor_divide torch.Tensor.__floordiv__", each(
        one(torch.floor_divide, L([7, 8, 9]), 2), one(torch.floor_divide, L([-7, 8, -9]), 2),
        one(lambda x: torch.div(x, 2, rounding_mode="floor"), L([-7, 8, -9])),
    )),
    ("torch.bitwise_not torch.Tensor.bitwise_not torch.Tensor.__invert__", one(lambda x: ~(x > 0), X(2, 3))),
    ("torch.bitwise_and torch.Tensor.bitwise_and torch.Tensor.__and__", one(lambda x: (x > 0) & (x < 1), X(2, 3))),
    ("torch.bitwise_or torch.Tensor.bitwise_or torch.Tensor.__or__", one(lambda x: (x > 0) | (x < -1), X(2, 3))),
    ("torch.bitwise_xor torch.Tensor.bitwise_xor torch.Tensor.__xor__", one(lambda x: (x > 0) ^ (x < 1), X(2, 3))),
    ("torch.where", each(
        one(torch.where, X(2, 3) > 0, X(2, 3), 0.0), one(lambda x: torch.where(x > 0)[0], X(2, 3)),
    )),
    ("torch.nonzero", each(
        one(torch.nonzero, X(2, 3) > 0), one(lambda x: torch.nonzero(x > 0, as_tuple=True)[1], X(2, 3)),
    )),
    ("torch.unique torch.Tensor.unique", each(
        one(torch.unique, L([3, 1, 1, 2])), one(torch.unique, L([3, 1, 1, 2]), return_inverse=True),
        one(torch.unique, L([[3, 1], [3, 1], [1, 2]]), dim=0),
    )),
    ("torch.repeat_interleave torch.Tensor.repeat_interleave", each(
        one(torch.repeat_interleave, X(3, 2), 2, 0), one(torch.repeat_interleave, X(3, 2), L([1, 2, 3]), 0),
    )),
    ("torch.cond", one(lambda x: torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v * 3, (x,)), X(2, 3))),
    ("torch.while_loop", one(count_up, X(2, 3).abs())),
    ("torch.vmap", one(lambda x: torch.vmap(lambda row: row * row.sum())(x), X(2, 3))),
    ("torch.nn.utils.rnn.pad_sequence", one(rnn.pad_sequence, [X(2, 3), X(4, 3)], batch_first=True)),
    (
        "torch.nn.utils.rnn.pack_padded_sequence torch.nn.utils.rnn.pad_packed_sequence",
        one(Packed(), X(2, 4, 3), L([4, 2])),
    ),
    ("torch.nn.functional.affine_grid", one(F.affine_grid, X(2, 2, 3), [2, 3, 4, 4])),
    ("torch.nn.functional.fold torch.nn.Fold", one(F.fold, X(1, 12, 9), (4, 4), (2, 2))),
    ("torch.nn.functional.gumbel_softmax", each(
        one(F.gumbel_softmax, X(2, 3)), one(F.gumbel_softmax, X(2, 3), hard=True),
    )),
    ("torch.nn.functional.dropout1d torch.nn.Dropout1d", one(F.dropout1d, X(2, 3, 4), 0.5, False)),
    ("torch.nn.functional.max_pool2d_with_indices", one(F.max_pool2d_with_indices, X(1, 2, 4, 4), 2)),
    ("torch.nn.functional.max_pool1d_with_indices", one(F.max_pool1d_with_indices, X(1, 2, 4), 2)),
    ("torch.nn.functional.adaptive_avg_pool2d", each(
        one(F.adaptive_avg_pool2d, X(1, 2, 4, 4), 1), one(F.adaptive_avg_pool2d, X(1, 2, 4, 4), (2, 2)),
        one(F.adaptive_avg_pool2d, X(1, 2, 5, 5), 3),
    )),
    ("torch.nn.functional.adaptive_max_pool2d", each(
        one(F.adaptive_max_pool2d, X(1, 2, 4, 4), 1), one(F.adaptive_max_pool2d, X(1, 2, 4, 4), (2, 2)),
        one(F.adaptive_max_pool2d, X(1, 2, 5, 5), 3),
    )),
    ("torch.nn.functional.adaptive_avg_pool1d", one(F.adaptive_avg_pool1d, X(1, 2, 4), 2)),
    ("torch.nn.functional.interpolate", each(
        one(F.interpolate, X(1, 2, 4, 4), scale_factor=2.0),
        one(F.interpolate, X(1, 2, 4, 4), size=(8, 8), mode="nearest"),
        one(F.interpolate, X(1, 2, 4, 4), size=(8, 8), mode="bilinear"),
        one(F.interpolate, X(1, 2, 4, 4), size=(8, 8), mode="bilinear", align_corners=True),
        one(F.interpolate, X(1, 2, 4, 4), size=(8, 8), mode="bicubic"),
        one(F.interpolate, X(1, 2, 8, 8), size=(4, 4), mode="bilinear", antialias=True),
        one(F.interpolate, X(1, 2, 8, 8), size=(4, 4), mode="area"),
        one(F.interpolate, X(1, 2, 4, 4), size=(8, 8), mode="nearest-exact"),
    )),
    ("torch.nn.functional.grid_sample", each(
        one(F.grid_sample, X(1, 2, 4, 4), X(1, 3, 3, 2) / 3, align_corners=False),
        one(F.grid_sample, X(1, 2, 4, 4), X(1, 3, 3, 2) / 3, mode="bicubic", align_corners=False),
        one(F.grid_sample, X(1, 2, 4, 4, 4), X(1, 3, 3, 3, 3) / 3, align_corners=False),
        one(F.grid_sample, X(1, 2, 4, 4), X(1, 3, 3, 2) / 3, padding_mode="border", align_corners=False),
    )),
    ("torch.nn.functional.one_hot", each(
        one(F.one_hot, L([0, 2, 1]), 4), one(F.one_hot, L([0, 2, 1])),
    )),
    ("torch.nn.functional.pad", each(
        one(F.pad, X(1, 2, 4), (1, 1)), one(F.pad, X(1, 2, 4), (1, 1), mode="reflect"),
        one(F.pad, X(1, 2, 4), (1, 1), mode="replicate"), one(F.pad, X(1, 2, 4), (1, 1), mode="circular"),
    )),
    ("torch.nn.functional.softplus", one(F.softplus, X(2, 6))),
    ("torch.nn.functional.unfold torch.nn.Unfold", one(F.unfold, X(1, 3, 6, 6), (2, 2))),
    ("torch.nn.functional.batch_norm", each(
        one(F.batch_norm, X(4, 3), X(3), X(3).abs() + 1, training=False),
        one(F.batch_norm, X(4, 3), X(3), X(3).abs() + 1, training=True),
    )),
    ("torch.cdist", each(one(torch.cdist, X(3, 4), X(5, 4)), one(torch.cdist, X(3, 4), X(5, 4), p=1.0))),
    ("torch.quantile", each(one(torch.quantile, X(3, 4), 0.5), one(torch.quantile, X(3, 4), 0.5, dim=1))),
    ("torch.all torch.Tensor.all", each(one(torch.all, X(3, 4) > -9), one(torch.all, X(3, 4) > 0, 1))),
    ("torch.any torch.Tensor.any", each(one(torch.any, X(3, 4) > 0), one(torch.any, X(3, 4) > 0, 1))),
    ("torch.nn.functional.scaled_dot_product_attention", each(
        one(F.scaled_dot_product_attention, X(1, 2, 3, 4), X(1, 2, 3, 4), X(1, 2, 3, 4)),
        one(F.scaled_dot_product_attention, X(1, 2, 3, 4), X(1, 2, 3, 4), X(1, 2, 3, 4), is_causal=True),
    )),
    ("torch.nn.Flatten", one(torch.nn.Flatten(), X(2, 3, 4))),
    ("torch.nn.Unflatten", one(torch.nn.Unflatten(1, (2, 3)), X(2, 6))),
    ("torch.nn.Identity", one(lambda x: torch.nn.Identity()(x) + 0, X(2, 6))),
    ("torch.nn.Hardsigmoid torch.nn.functional.hardsigmoid", one(F.hardsigmoid, X(2, 6))),
    ("torch.nn.functional.hardswish", one(F.hardswish, X(2, 6))),
    ("torch.nn.functional.sigmoid", one(F.sigmoid, X(2, 6))),
    ("torch.nn.functional.tanh", one(F.tanh, X(2, 6))),
    ("torch.quantize_per_tensor", one(lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize(), X(4))),
    ("torch.fake_quantize_per_tensor_affine", one(torch.fake_quantize_per_tensor_affine, X(2, 3), 0.1, 0, 0, 255)),
]  # fmt: skip
