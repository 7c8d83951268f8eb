"""A call for every entry of `onnxlint/flow/tables/overlay.json` that is measured, for `measure_overlay.py`."""

from __future__ import annotations

import operator
import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from ops_samples import X
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 - registers torch.ops.quantized_decomposed
from torch.nn.utils import rnn

LONG = torch.tensor([[3, 1, 2, 0, 1, 2, 0, 3]])
FOLDER = Path(tempfile.mkdtemp(prefix="overlay-"))


@dataclass(frozen=True)
class Sample:
    """A function of tensors (or a module), example inputs, and the (input, axis) pairs that are to be dynamic."""

    forward: Callable[..., Any]
    inputs: tuple[Any, ...]
    dynamic: tuple[tuple[int, int], ...] = ()
    times: int = 2  # a dynamic axis of the second input is as many times as long


def sized(forward: Callable[..., Any], *shape: int, axis: int = 1, times: int = 2) -> Sample:
    """A call with one input, of which one axis is dynamic."""
    return Sample(forward, (X(*shape),), ((0, axis % len(shape)),), times)


def fixed(forward: Callable[..., Any], *inputs: Any) -> Sample:
    """A call with no dynamic axis."""
    return Sample(forward, inputs)


def rank(name: str) -> int:
    """The number of spatial axes: 2 of `max_pool2d`."""
    return int(name[-2])


def sums(parts: Any) -> Any:
    """One number of each piece."""
    return torch.stack([part.sum() for part in parts])


def function(name: str) -> Callable[..., Any]:
    """A function by its name in torch.nn.functional, torch, or whole."""
    if "." in name:
        value: Any = torch
        for part in name.removeprefix("torch.").split("."):
            value = getattr(value, part)
    else:
        value = getattr(F, name, None) or getattr(torch, name)
    found: Callable[..., Any] = value
    return found


# ---------------------------------------------------------------- a dynamic size where a number is wanted

ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "group_norm": lambda x: F.group_norm(x, x.shape[1] // 2),
    "roll": lambda x: torch.roll(x, x.shape[1] // 4, 1),
    "unfold": lambda x: F.unfold(x[:, None, :, None], (2, 1), stride=x.shape[1] // 2),
    "fold": lambda x: F.fold(x[:, :2, None], (2, 1), (2, 1), stride=x.shape[1] // 2),
}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x, x.shape[1]),
    "unfold": ATTRIBUTES["unfold"],
    "fold": ATTRIBUTES["fold"],
}


def attribute(name: str) -> Sample:
    """A size as kernel, stride, padding, dilation, shape, number of groups or shift."""
    if name in ATTRIBUTES:
        return sized(ATTRIBUTES[name], 2, 4)
    call, r = function(name), rank(name)
    if "conv" in name:
        weight = X(2, 2, *[3] * r)
        return sized(lambda x: call(x, weight, None, x.shape[-1]), 1, 2, *[4] * r, axis=-1)
    if name.startswith("adaptive"):
        dynamic = tuple((1, axis) for axis in range(2, 2 + r))
        return Sample(lambda x, y: call(x, y.shape[2:]), (X(1, 2, *[16] * r), X(1, 2, *[4] * r)), dynamic)
    return whole(call, r)


def whole(call: Callable[..., Any], r: int) -> Sample:
    """A pooling over everything."""
    dynamic = tuple((0, axis) for axis in range(2, 2 + r))
    return Sample(lambda x: call(x, x.shape[2:]), (X(1, 2, *[4] * r),), dynamic)


def groups(name: str) -> Sample:
    """A convolution of each channel, with a dynamic number of them."""
    call, r = function(name), rank(name)
    weight = X(1, 1, *[3] * r)
    return sized(lambda x: call(x, weight.expand(x.shape[1], *[-1] * (r + 1)), groups=x.shape[1]), 1, 4, *[8] * r)


def shape_read(name: str) -> Sample:
    """A fixed size that is read off the tensor."""
    if name in SHAPES:
        return sized(SHAPES[name], 2, 4, axis=0)
    call = function(name)
    return sized(lambda x: call(x, x.shape[2:]), 1, 2, *[8] * rank(name), axis=0)


def adaptive(name: str, cells: int | tuple[int | None, ...], size: int, axis: int) -> Sample:
    """Adaptive pooling of one axis to a number of cells."""
    call = function(name)
    return sized(lambda x: call(x, cells).sum(-1), 1, 2, *[size] * rank(name), axis=axis)


class Held(nn.Module):
    """Modules in a ModuleDict, chosen by a size."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({"8": nn.ReLU(), "16": nn.Tanh()})

    def forward(self, x: Any) -> Any:
        """(batch, time)."""
        return self.parts[str(x.shape[1])](x)


def kept(x: Any) -> Any:
    """A result kept under a size."""
    found = {}
    found[x.shape[1]] = x * 2
    return next(iter(found.values()))


def pinned(x: Any) -> Any:
    """A size that is asserted."""
    assert x.shape[1] == 8
    return x * 2


def refused(x: Any) -> Any:
    """A size that is checked."""
    if x.shape[1] != 8:
        raise ValueError(x.shape)
    return x * 2


def squeezed(x: Any) -> Any:
    """A tensor without the axis, if that has one element."""
    return x.squeeze(1) * 2


def part(quotient: int, x: Any) -> Any:
    """x padded by quotient or rest of a division of its length."""
    return F.pad(x, (0, divmod(x.shape[1], 3)[quotient]))


def kind(x: Any) -> Any:
    """What is an int is doubled."""
    return x * 2 if isinstance(x.shape[1], int) else x * 3


CHECKS: dict[str, Callable[[Any], Any]] = {
    "_check_is_size": lambda n: torch._check_is_size(n),
    "_check_with": lambda n: torch._check_with(ValueError, n < 99, lambda: ""),
}


def checked(name: str) -> Sample:
    """One of torch's checks, of a size."""
    short = name.removeprefix("torch.")
    check = CHECKS.get(short, lambda n: getattr(torch, short)(n < 99))
    return sized(lambda x: (check(x.shape[1]), x * 2)[1], 2, 8)


FLAGS: dict[str, Callable[[Any], Any]] = {
    "is_causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1),
    "descending": lambda x: x.sort(1, descending=x.shape[1] > 1)[0],
    "largest": lambda x: x.topk(2, 1, largest=x.shape[1] > 1)[0],
    "sorted": lambda x: x.topk(2, 1, sorted=x.shape[1] > 1)[0],
    "ceil_mode": lambda x: F.max_pool1d(x, 2, ceil_mode=x.shape[1] > 1),
    "align_corners": lambda x: F.interpolate(x, size=5, mode="linear", align_corners=x.shape[1] > 1),
    "training": lambda x: F.dropout(x, 0.0, training=x.shape[1] > 1),
    "keepdim": lambda x: x.sum(1, keepdim=x.shape[1] > 1),
}
FACTORIES: dict[str, Callable[[Any], Any]] = {
    "linspace": lambda x: x + torch.linspace(0, 1, x.shape[1]),
    "logspace": lambda x: x + torch.logspace(0, 1, x.shape[1]),
    "tril_indices": lambda x: torch.tril_indices(x.shape[1], x.shape[1]) + x.sum(),
    "triu_indices": lambda x: torch.triu_indices(x.shape[1], x.shape[1]) + x.sum(),
}


def factory(name: str) -> Sample:
    """A tensor of a dynamic size."""
    call = function(name)
    return sized(FACTORIES.get(name, lambda x: x + call(x.shape[1])), 2, 8)


class Attention(nn.Module):
    """A module with attention in it, called with one sequence."""

    def __init__(self, short: str) -> None:
        super().__init__()
        layer = {"d_model": 8, "nhead": 2, "dim_feedforward": 8, "batch_first": True}
        self.short = short
        if short == "MultiheadAttention":
            self.inner: Any = nn.MultiheadAttention(8, 2, batch_first=True)
        elif short in ("TransformerEncoder", "TransformerDecoder"):
            self.inner = getattr(nn, short)(getattr(nn, f"{short}Layer")(**layer), 1, **(
                {"enable_nested_tensor": False} if "Encoder" in short else {}))  # fmt: skip
        elif short == "Transformer":
            self.inner = nn.Transformer(8, 2, 1, 1, 8, batch_first=True)
        else:
            self.inner = getattr(nn, short)(**layer)

    def forward(self, x: Any) -> Any:
        """(batch, time, 8)."""
        if self.short == "MultiheadAttention":
            return self.inner(x[:, :2], x, x)[0]
        return self.inner(x) if "Encoder" in self.short else self.inner(x, x)


# ---------------------------------------------------------------- calls that no graph can hold

LINEAR = nn.Linear(4, 4)


def row(x: Any) -> Any:
    """A function to transform."""
    return (x * x).sin()


def total(x: Any) -> Any:
    """A function to take the gradient of."""
    return row(x).sum()


def transform(name: str) -> Sample:
    """A transform of torch.func or torch.autograd.functional."""
    short, call = name.rpartition(".")[2], function(name)
    if short == "functional_call":
        return fixed(lambda x: call(LINEAR, dict(LINEAR.named_parameters()), (x,)), X(2, 4))
    if short == "vmap":
        return fixed(lambda x: call(row)(x), X(2, 4))
    if "autograd" in name:
        turned = short in ("jvp", "hvp", "vhp", "vjp")
        on = row if short in ("jacobian", "jvp", "vjp") else total
        return fixed(lambda x: call(on, x, x)[1] if turned else call(on, x), X(4))
    if short == "linearize":
        return fixed(lambda x: call(row, x)[1](x), X(4))
    if short in ("vjp", "jvp"):
        return fixed(lambda x: call(row, x)[1](x)[0] if short == "vjp" else call(row, (x,), (x,))[1], X(4))
    if short == "grad_and_value":
        return fixed(lambda x: call(total)(x)[0], X(4))
    return fixed(lambda x: call(total if short in ("grad", "hessian") else row)(x), X(4))


def control_flow(name: str) -> Sample:
    """Control flow as a function."""
    from torch._higher_order_ops import map as mapped
    from torch._higher_order_ops import scan

    calls: dict[str, Callable[[Any], Any]] = {
        "torch.cond": lambda x: torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)),
        "torch.while_loop": lambda x: torch.while_loop(lambda a: a.sum() < 9, lambda a: (a + 1,), (x,))[0],
        "torch.scan": lambda x: scan(lambda carried, row: (carried + row, carried * 2), x[0], x)[1],
        "torch.map": lambda x: mapped(lambda row: row * 2, x),
    }
    return sized(calls[name], 2, 4, axis=0)


def custom(name: str) -> Sample:
    """An operator of no exporter's: one of a namespace of torch for quantized numbers, or one of our own."""
    if name == "torch.ops.quantized":
        return fixed(lambda x: torch.ops.quantized.cat([torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)], 0, 0.1, 0)
                     .dequantize(), X(2, 4))  # fmt: skip
    if name == "torch.ops.quantized_decomposed":
        ops, how = torch.ops.quantized_decomposed, (0.1, 0, -128, 127, torch.int8)
        return sized(lambda x: ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *how), *how), 2, 4, axis=0)
    return fixed(twice, X(2, 4))


def gradient(name: str) -> Sample:
    """A gradient inside forward."""

    class Gradient(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            x = x.detach().requires_grad_()
            energy = self.linear(x).sin().sum()
            if name == "torch.autograd.grad":
                return torch.autograd.grad(energy, x)[0]
            torch.autograd.backward(energy) if name == "torch.autograd.backward" else energy.backward()
            return x.grad

    return fixed(Gradient(), X(2, 4))


def autocast(name: str) -> Sample:
    """A product under an autocast of the CPU."""
    bare = name in ("torch.cpu.amp.autocast", "torch.cuda.amp.autocast")

    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                context = function(name)(**({} if bare else {"device_type": "cpu"}))
            with context:
                return self.linear(x).float()

    return fixed(Cast(), X(2, 4))


class Packed(nn.Module):
    """Pack a batch, run a recurrent layer, and pad."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.lstm, self.short = nn.LSTM(3, 4), name.rpartition(".")[2]

    def forward(self, x: Any, lengths: Any) -> Any:
        """(time, batch, 3)."""
        if self.short == "pack_sequence":
            packed = rnn.pack_sequence([x[:, 0], x[:2, 1]])
        else:
            packed = rnn.pack_padded_sequence(x, lengths)
        return rnn.pad_packed_sequence(self.lstm(packed)[0])[0]


def written(name: str) -> Sample:
    """A tensor that is written to a file."""
    path = FOLDER / "file"
    numpy = {"numpy.save": np.save, "numpy.savez": np.savez, "numpy.savez_compressed": np.savez_compressed}

    def write(x: Any) -> Any:
        if name == "torch.save":
            torch.save(x * 2, path)
        elif name == "pickle.dump":
            with path.open("wb") as file:
                pickle.dump(x * 2, file)
        elif name == "pickle.dumps":
            pickle.dumps(x * 2)
        elif name == "numpy.savetxt":
            np.savetxt(path, x)
        else:
            numpy[name](path, x)
        return x * 2

    return fixed(write, X(2, 4))


SPARSE: dict[str, Callable[[Any], Any]] = {
    "to_dense": lambda x: x.to_sparse().to_dense(),
    "coalesce": lambda x: x.to_sparse().coalesce().to_dense(),
    "sparse_mask": lambda x: x.sparse_mask((x > 0).float().to_sparse()).to_dense(),
    "to_sparse_bsr": lambda x: x.to_sparse_bsr((2, 2)).to_dense(),
    "to_sparse_bsc": lambda x: x.to_sparse_bsc((2, 2)).to_dense(),
    "smm": lambda x: torch.smm(x.to_sparse(), x).to_dense(),
    "hspmm": lambda x: torch.hspmm(x.to_sparse(), x).to_dense(),
    "sparse_coo_tensor": lambda x: torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), x[0, :2], (4, 4)).to_dense(),
    "torch.sparse": lambda x: torch.sparse.mm(x, x),
    "torch.nested": lambda x: torch.nested.nested_tensor([x, x[:2]]).to_padded_tensor(0.0),
}
INDEX, PLACES = torch.tensor([0, 2, 4]), torch.tensor([0, 1, 2, 3])
SPARSE |= {
    f"sparse_{name}_tensor": partial(
        lambda call, size, shape, x: call(INDEX[: size + 1], PLACES[:size], x.reshape(-1)[: shape[0]].reshape(shape),
                                          (4, 4)).to_dense(),
        getattr(torch, f"sparse_{name}_tensor"), size, shape)
    for name, size, shape in (("bsr", 2, (2, 2, 2)), ("bsc", 2, (2, 2, 2)))
}  # fmt: skip
ROWS = torch.tensor([0, 1, 2, 3, 4])
SPARSE |= {
    "sparse_csr_tensor": lambda x: torch.sparse_csr_tensor(ROWS, PLACES, x[0], (4, 4)).to_dense(),
    "sparse_csc_tensor": lambda x: torch.sparse_csc_tensor(ROWS, PLACES, x[0], (4, 4)).to_dense(),
    "sparse_compressed_tensor": lambda x: torch.sparse_compressed_tensor(
        ROWS, PLACES, x[0], (4, 4), layout=torch.sparse_csr
    ).to_dense(),
}


def sparse(name: str) -> Sample:
    """A sparse tensor, made or used."""
    return fixed(SPARSE.get(name, lambda x: getattr(x, name)().to_dense()), X(4, 4))


@torch.library.custom_op("overlay::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    """An operator that no exporter knows."""
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def compiled_part(name: str) -> Sample:
    """A part of a model that is compiled or scripted."""
    part: Any = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    made = torch.jit.trace(part, X(2, 4)) if name == "torch.jit.trace" else function(name)(part)
    return fixed(nn.Sequential(made, nn.Tanh()), X(2, 4))


class Normed(nn.Module):
    """A layer with a hook, called past it."""

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.inner = nn.utils.weight_norm(nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        """(batch, 4)."""
        return self.inner.forward(x)


def reshaped(name: str) -> Sample:
    """An input that gets another shape."""
    arguments: dict[str, tuple[Any, ...]] = {
        "squeeze_": (), "unsqueeze_": (0,), "t_": (), "resize_": (2, 2), "resize_as_": (X(2, 2),), "set_": (X(2, 2),),
    }  # fmt: skip

    def write(x: Any) -> Any:
        getattr(x, name)(*arguments.get(name, (0, 1)))
        return x * 2

    return fixed(write, X(1, 4) if name == "squeeze_" else X(2, 4))


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda z: z.chunk(2, 1)[0],
    "expand": lambda z: z.expand(3, 2, 4),
    "split": lambda z: z.split(2, 1)[0],
    "cumprod": lambda z: z.cumprod(1),
    "cumsum": lambda z: z.cumsum(1),
    "einsum": lambda z: torch.einsum("ij,kj->ik", z, z),
    "fftshift": lambda z: torch.fft.fftshift(z),
    "ifftshift": lambda z: torch.fft.ifftshift(z),
    "index_select": lambda z: z.index_select(1, torch.tensor([0, 2])),
    "linear": lambda z: F.linear(z, z),
    "masked_fill": lambda z: z.masked_fill(torch.tensor([True, False, True, False]), 0),
    "pad": lambda z: F.pad(z, (1, 1)),
    "pow": lambda z: z.pow(2),
    "**": lambda z: z**2,
    "prod": lambda z: z.prod(1),
    "repeat": lambda z: z.repeat(2, 1),
    "unsqueeze": lambda z: z.unsqueeze(1),
    "where": lambda z: torch.where(torch.tensor([True, False, True, False]), z, z * 2),
    "index": lambda z: z[None],
}


def complex_numbers(name: str) -> Sample:
    """An operator on complex numbers."""
    call = COMPLEX.get(name) or (lambda z: function(name)(z))
    dynamic = ((0, 1),) if "shift" in name else ()
    return Sample(lambda z: torch.view_as_real(call(torch.view_as_complex(z))), (X(2, 4, 2),), dynamic)


IN_PLACE = {"&=": "iand", "|=": "ior", "^=": "ixor", "<<=": "ilshift", ">>=": "irshift"}
IMAGINARY: dict[str, Callable[[Any], Any]] = {
    "+": lambda x: x + 2j,
    "-": lambda x: x - 2j,
    "*": lambda x: x * 2j,
    "/": lambda x: x / 2j,
    "**": lambda x: x**2j,
}


def distances(rows: int = 30, first: tuple[int, ...] | None = None, **options: Any) -> Callable[[str], Sample]:
    """Distances of many rows, or as told."""
    return lambda _: fixed(lambda a, b: torch.cdist(a, b, **options), X(*(first or (rows, 3))), X(rows, 3) / 2)


def masked(_: str) -> Sample:
    """Attention with a row that may look at nothing."""
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    return fixed(lambda x, m: F.scaled_dot_product_attention(x, x, x, m), X(1, 2, 3, 4), mask)


def masked_write(*before: Any, after: tuple[Any, ...] = ()) -> Callable[[str], Sample]:
    """`x[..., mask, ...] = 1` on a copy."""

    def put(x: Any, m: Any) -> Any:
        x = x * 1
        x[(*before, m, *after)] = 1.0
        return x

    return lambda _: fixed(put, X(4, 4), torch.tensor([True, False, True, False]))


def wrong(name: str) -> Sample:
    """An argument that makes a file wrong."""
    if "embedding" in name:
        offsets = (torch.tensor([0, 2]),) if "bag" in name else ()
        return fixed(lambda i: function(name)(i, X(5, 3), *offsets, max_norm=0.5), torch.tensor([3, 1, 2, 0]))
    if name == "cdist":
        return fixed(lambda a, b: torch.cdist(a, b, p=1.0), X(30, 3), X(30, 3) / 2)
    return fixed(lambda x: function(name)(x, 2, divisor_override=3), X(1, 2, *[4] * rank(name)))


def pieces(name: str) -> Sample:
    """An axis in pieces, of which more size makes longer ones, or more."""
    size, how = {"split": (9, (3, 1)), "chunk": (5, (4, 1)), "tensor_split": (8, (3, 1)), "unbind": (4, (1,))}[name]
    return sized(lambda x: sums(function(name)(x, *how)), 2, size)


class Rows(nn.Module):
    """As many rows of an embedding as the input is long."""

    def __init__(self, rows: nn.Module) -> None:
        super().__init__()
        self.rows = rows

    def forward(self, x: Any) -> Any:
        """The sums of its columns."""
        return self.rows(torch.arange(x.shape[1])[None]).sum(-2) + x.sum()


def wrong_layer(name: str) -> Sample:
    """An argument of a module that makes a file wrong."""
    if "Embedding" in name:
        return sized(Rows(getattr(nn, name)(16, 3, max_norm=0.5)), 2, 4)  # eager bounds a row when it is asked for
    return fixed(getattr(nn, name)(2, divisor_override=3), X(1, 2, *[4] * rank(name)))


TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "masked_fill": lambda m, other: m.masked_fill(other, 0),
    "where": lambda m, other: torch.where(m, other, ~m),
    "add": lambda m, other: m + other,
    "+": lambda m, other: m + other,
    "sort": lambda m, _: m.sort().values,
    "argsort": lambda m, _: m.argsort(),
    "unique": lambda m, _: m.unique(),
    "cumsum": lambda m, _: m.cumsum(-1),
    "max": lambda m, _: m.max(),
    "min": lambda m, _: m.min(),
    "amax": lambda m, _: m.amax(-1),
    "amin": lambda m, _: m.amin(-1),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}
LITERAL_TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "masked_fill": lambda m, other: m.masked_fill(other, False),
    "where": lambda m, other: torch.where(m, True, other),
}


def parted_write(x: Any, i: Any) -> Any:
    """A write at positions of the first and the last axis."""
    x = x.clone()
    x[i, :, i] = 0.5
    return x * 2


BOOL_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "*": operator.mul, "/": operator.truediv, "%": operator.mod, "**": operator.pow,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
BOOL_CALLS: dict[str, Callable[[Any], Any]] = {
    "full": lambda x: torch.full((2, 4), True) & (x > 0),
    "full_like": lambda x: torch.full_like(x > 0, True) & (x > 0),
    "fill_": lambda x: (x > 0).clone().fill_(True) & (x > 1),
    "new_full": lambda x: x.new_full((2, 4), True, dtype=torch.bool) & (x > 0),
    "masked_fill": lambda x: x.masked_fill(x > 0, False),
    "masked_fill_": lambda x: x.clone().masked_fill_(x > 0, False) * 2,
    "index_fill": lambda x: x.index_fill(1, torch.tensor([0]), False),
    "index_fill_": lambda x: x.clone().index_fill_(1, torch.tensor([0]), False) * 2,
    "scatter_": lambda x: x.clone().scatter_(1, torch.zeros(2, 1, dtype=torch.long), True) * 2,
    "scatter": lambda x: x.scatter(1, torch.zeros(2, 1, dtype=torch.long), True),
    "where": lambda x: torch.where(x > 0, x, False),
}


def by_a_bool(name: str) -> Sample:
    """A tensor and a Python bool."""
    if name in BOOL_CALLS:
        return fixed(BOOL_CALLS[name], X(2, 4))
    of_bits = name in "&|^" or name.startswith("bitwise")
    call = BOOL_OPERATORS.get(name) or getattr(torch, name)
    return fixed(lambda x: call(x > 0 if of_bits else x, True), X(2, 4))


SAMPLES: dict[str, Callable[[str], Sample]] = {
    "Python bool": by_a_bool,
    "index_put: a slice between": lambda _: fixed(parted_write, X(2, 3, 2), torch.tensor([1, 0])),
    "attribute": attribute,
    "attribute: grid": lambda _: Sample(
        lambda theta, x: F.affine_grid(theta, [2, 3, x.shape[0], 4], align_corners=False),
        (X(2, 2, 3), X(4, 4)),
        ((1, 0),),
    ),
    "attribute: groups": groups,
    "attribute: shape": shape_read,
    "split": pieces,
    "split: two pieces": lambda _: sized(lambda x: x.chunk(2, 1)[0] - x.chunk(2, 1)[1], 2, 8),
    "adaptive": lambda name: adaptive(name, 2, 8, -1),
    "adaptive: as it is": lambda name: adaptive(name, (None, *[1] * (rank(name) - 1)), 8, 0),
    "adaptive: not a factor": lambda name: adaptive(name, 3, 8, 0),
    "scale": lambda name: sized(lambda x: function(name)(x, scale_factor=x.shape[-1] / 4), 1, 2, 8, axis=-1),
    "negative-division": lambda name: sized(
        (lambda x: F.pad(x, (0, -(-x.shape[1] // 3)))) if name == "//" else partial(part, 1), 2, 8),
    "repetition": lambda name: sized(lambda x: torch.stack([x[:, 0]] * x.shape[1]) if name == "*" else
                                     torch.arange(3).repeat_interleave(x.shape[1]) + x.sum(), 2, 8),
    "repetition: computed": lambda _: sized(lambda x: torch.stack([x[:, 0]] * (x.shape[1] // 2)), 2, 8),
    "check": checked,
    "pinned": lambda name: sized(pinned if name == "assert" else refused, 2, 8, times=1),
    "key": lambda _: sized(lambda x: x * [float(i) for i in range(99)][x.shape[1]], 2, 8),
    "key: number": lambda _: sized(lambda x: x * {8: 2.0}.get(int(x.shape[1]), 1.0), 2, 8),
    "key: module": lambda _: Sample(Held(), (X(2, 8),), ((0, 1),)),
    "key: kept": lambda _: sized(kept, 2, 8),
    "key: tuple": lambda _: sized(lambda x: x * {(1, 8): 2.0}.get((1, x.shape[1]), 1.0), 2, 8),
    "item": lambda _: sized(lambda x: x * [2.0, 3.0][(x.abs().sum() > 1.5 * X(2, 4).abs().sum()).long()], 2, 4),
    "squeeze-axis": lambda _: sized(squeezed, 2, 1, 3),
    "window": lambda name: sized((lambda x: F.fold(x, (x.shape[-1] + 1, 2), (2, 2))) if name == "fold" else
                                 (lambda x: x.unfold(1, 2, 1)), *((1, 4, 3) if name == "fold" else (2, 8)), axis=-1),
    "strides": lambda _: sized(lambda x: x.as_strided((2, 2), (x.shape[1], 1)), 2, 8),
    "factory": factory,
    "flag": lambda name: sized(FLAGS[name], 2, 8, 4),
    "type": lambda _: sized(kind, 2, 8),
    "data-size": lambda _: fixed(lambda x: F.one_hot(x), LONG),
    "attention": lambda name: Sample(Attention(name), (X(2, 6, 8),), ((0, 1),)),
    "transform": transform,
    "gradient": gradient,
    "autocast": autocast,
    "packed": lambda name: fixed(Packed(name), X(4, 2, 3), torch.tensor([4, 2])),
    "file": written,
    "custom": custom,
    "function": control_flow,
    "sparse": sparse,
    "sparse: namespace": sparse,
    "compiled: part": compiled_part,
    "compiled": lambda _: fixed(torch.compile(lambda x: row(x) * 2), X(2, 4)),
    "direct forward": lambda _: fixed(Normed(), X(2, 4)),
    "clock": lambda _: fixed(row, X(2, 4)),
    "floor-division": lambda name: fixed({"//": lambda x: x // 2, ">>": lambda x: x >> 1}.get(name) or
                                         (lambda x: function(name)(x, 1 if "shift" in name else 2)),
                                         torch.tensor([-7, 8, -9])),
    "in place": lambda name: fixed(lambda x: getattr(operator, IN_PLACE[name])(x + 1, 2), torch.tensor([7, 8, 9])),
    "size-operand": lambda name: sized(lambda x: torch.arange(9) % x.shape[1] + x.sum() if name == "remainder" else
                                       x**x.shape[1], 2, 3),
    "distances: unequal ranks": distances(rows=5, first=(2, 5, 3)),
    "distances: p": distances(p=1.0),
    "distances: compute_mode": distances(compute_mode="donot_use_mm_for_euclid_dist"),
    "distances: few": distances(rows=25),
    "not loaded": lambda _: fixed(
        lambda x: torch.istft(torch.stft(x, 8, window=torch.ones(8), return_complex=True), 8, window=torch.ones(8)),
        X(1, 32)),
    "of bools": lambda name: fixed(lambda x, y: TRUTHS[name](x > 0, y > 0), X(2, 4), X(2, 4)),
    "of bools: literal": lambda name: fixed(lambda x, y: LITERAL_TRUTHS[name](x > 0, y > 0), X(2, 4), X(2, 4)),
    "windows: negative dimension": lambda _: fixed(lambda x: x.unfold(-2, 2, 2) * 2, X(2, 8, 3)),
    "index_put: accumulate": lambda _: fixed(lambda x, i: x.index_put((i,), x[:3], accumulate=True), X(4, 3),
                                             torch.tensor([0, 0, 1])),
    "index: below zero": lambda _: fixed(lambda x, i: x[torch.arange(2), i - 1], X(2, 4), torch.tensor([0, 2])),
    "index_put: a mask before another index": masked_write(after=(slice(2),)),
    "index_put: a mask after `...`": masked_write(...),
    "index_put: a mask after a slice": masked_write(slice(None)),
    "argument": wrong,
    "argument: layer": wrong_layer,
    "complex: return_complex": lambda _: fixed(
        lambda x: torch.stft(x, 8, window=torch.ones(8), return_complex=True).abs(), X(1, 32)),
    "read": lambda _: sized(lambda x: x * (len(x[0].tolist()) > 99), 2, 8),
    "complex: real": complex_numbers,
    "complex: imaginary": lambda name: fixed(lambda x: IMAGINARY[name](x).abs(), X(2, 4).abs()),
    "attention mask": masked,
    "input-reshaped": reshaped,
    "data": lambda name: sized((lambda x: x.data * 2), 2, 4, axis=0),
}  # fmt: skip
