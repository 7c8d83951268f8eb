"""Calls that no graph can hold, or that a graph holds wrongly: what is seen, and the near misses that are not."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, reported, told

MODEL = """\
import copy
import datetime
import pickle
import time

import flash_attn
from flash_attn import flash_attn_func
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LOG = []
STATE = {}
LAST = None


@torch.library.custom_op("lib::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2 if x.sum() > 0 else x


@torch.compile
def swish(x):
    return x * torch.sigmoid(x)


@torch.jit.script
def scripted(x):
    return x * torch.sigmoid(x)


@torch.jit.script
def shortened(x, length: int):
    return x[:length]


class M(nn.Module):
    steps = 0

    def __init__(self, fast=False):
        super().__init__()
        self.fast = fast
        self.lin = nn.Linear(4, 4)
        self.rnn = nn.GRU(4, 4)
        self.normed = torch.nn.utils.weight_norm(nn.Linear(4, 4))
        self.limited = nn.Embedding(9, 4, max_norm=1.0)
        self.history = []
        self.kept = {}
        self.register_buffer("turn", torch.polar(torch.ones(4), torch.ones(4)))

    def reset(self):
        self.kept = {}

    def forward(self, x: Tensor, mask: Tensor, lengths: Tensor):
"""


def forward(body: str) -> str:
    """A model whose forward has this body."""
    return MODEL + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"


FOUND = {
    "a condition as a function, whose branches TorchScript never sees": (
        "return torch.cond(x.sum() > 0, lambda v: swish(v), lambda v: self.lin(v), (x,))",
        [
            "Call export-error: torch.cond(x.sum() > 0, lambda v: swish(v), lambda v: self.lin(v), (x,))",
        ],
    ),
    "a branch of a branch function, and what a scan gives": (
        """
        from torch._higher_order_ops import scan

        def step(c, v):
            return c + (v if v.sum() > 0 else -v), v
        last, all = scan(step, x[0], x)
        return last if all.sum() > 0 else -last
        """,
        [
            "Branch data: all.sum() > 0",
            "Branch data: v.sum() > 0",
            "Call export-error: scan(step, x[0], x)",
        ],
    ),
    "torchvision's normalization, and the size of what it gives": (
        """
        from torchvision.transforms import Normalize
        from torchvision.transforms.functional import normalize
        y = Normalize((0.5,), (0.2,))(normalize(x, [0.5], [0.2]))
        return y[: len(y)]
        """,
        [
            "Escape len() dim: len(y)",
            "Call export-error: Normalize((0.5,), (0.2,))(normalize(x, [0.5], [0.2]))",
            "Call export-error: normalize(x, [0.5], [0.2])",
        ],
    ),
    "the shape of data, and its size": (
        "b, n = x.data.size()[:2]\nreturn x.view(x.data.shape[0], -1) + x.new_zeros(b, n)",
        ["Escape a size after unflatten dim: x.data.shape", "Escape a size after unflatten dim: x.data.size()"],
    ),
    "distributions that ask whether their parameters are valid, and some that do not": (
        """
        from torch.distributions import Categorical, Independent, Normal
        spread = Independent(Normal(x, x.exp(), validate_args=False), 1)
        return spread.mean + Normal(0.0, 1.0).mean, Categorical(logits=x).probs, Normal(x, self.scale).mean
        """,
        ["Call export-error: Categorical(logits=x)", "Call export-error: Normal(x, self.scale)"],
    ),
    "a number for a scripted function": (
        "return shortened(x, int(lengths[-1]) + 1)",
        ["Escape int() data: int(lengths[-1])"],
    ),
    "a map": (
        "from functorch.experimental import control_flow\nreturn control_flow.map(lambda v: v * 2, x)",
        ["Call export-error: control_flow.map(lambda v: v * 2, x)"],
    ),
    "a Fourier transform": ("return torch.fft.rfft(x).abs()", ["ComplexCall: torch.fft.rfft(x)"]),
    "a pair of channels as a complex number, and back": (
        "z = torch.view_as_complex(x)\nreturn torch.view_as_real(z * self.turn)",
        ["ComplexCall: torch.view_as_complex(x)", "ComplexCall: torch.view_as_real(z * self.turn)"],
    ),
    "the exponential of a complex number": (
        "z = torch.complex(x, x)\nreturn z.exp().abs()",
        ["ComplexCall: torch.complex(x, x)", "ComplexCall: z.exp()"],
    ),
    "a complex number of Python": ("return (x * 2j).abs()", ["ComplexCall: x * 2j"]),
    "a power of a complex number": (
        "z = torch.complex(x, x)\nreturn (z**2).real",
        ["ComplexCall: torch.complex(x, x)", "ComplexCall: z**2"],
    ),
    "a row of complex numbers": ("return x * self.turn[None].real", ["ComplexCall: self.turn[None]"]),
    "a gradient": (
        "x = x.detach().requires_grad_()\nreturn torch.autograd.grad(x.sum(), x)[0]",
        ["GradientCall: torch.autograd.grad(x.sum(), x)"],
    ),
    "backward": ("x.sum().backward()\nreturn x.grad", ["GradientCall: x.sum().backward()"]),
    "the gradient of a function": (
        "return torch.func.grad(lambda v: v.sum())(x)",
        ["TransformCall: torch.func.grad(lambda v: v.sum())"],
    ),
    "vmap": ("return torch.vmap(lambda v: v * 2)(x)", ["TransformCall: torch.vmap(lambda v: v * 2)"]),
    "autocast on a CPU": (
        'with torch.autocast("cpu", dtype=torch.bfloat16):\n    return self.lin(x)',
        ['AutocastCall: torch.autocast("cpu", dtype=torch.bfloat16)'],
    ),
    "autocast on a GPU": (
        "with torch.cuda.amp.autocast():\n    return self.lin(x)",
        ["AutocastCall: torch.cuda.amp.autocast()?"],
    ),
    "a packed sequence": (
        "packed = pack_padded_sequence(x, lengths)\ny, _ = self.rnn(packed)\nreturn pad_packed_sequence(y)[0]",
        ["PackingCall: pack_padded_sequence(x, lengths)"],
    ),
    "an operator without a form that a condition alone asks for": (
        "if torch.isclose(x, x * 2).any():\n    raise ValueError\nreturn x * 2",
        ["Assertion data: torch.isclose(x, x * 2).any()"],
    ),
    "an operator without a form, whose result is asked for later": (
        "close = torch.isclose(x, x * 2)\nreturn x * close",
        ["Call export-error: torch.isclose(x, x * 2)"],
    ),
    "lengths that are read for packing, and for nothing else": (
        "y, _ = self.rnn(pack_padded_sequence(x, lengths.cpu().numpy()))\nreturn pad_packed_sequence(y)[0]",
        ["PackingCall: pack_padded_sequence(x, lengths.cpu().numpy())"],
    ),
    "lengths that are read for packing, and used again": (
        "n = lengths.tolist()\ny, _ = self.rnn(pack_padded_sequence(x, n))\nreturn pad_packed_sequence(y)[0][: max(n)]",
        ["Escape .tolist() data: lengths.tolist()", "PackingCall: pack_padded_sequence(x, n)"],
    ),
    "a tensor in a file": (
        'torch.save(x * 2, "x.pt")\nreturn x * 2',
        ['FileWrite: torch.save(x * 2, "x.pt")'],
    ),
    "a tensor in a dict in a file": (
        'with open("x", "wb") as f:\n    pickle.dump({"x": x}, f)\nreturn x * 2',
        ['FileWrite: pickle.dump({"x": x}, f)'],
    ),
    "an operator of one's own": ("return torch.ops.lib.twice(x)", ["CustomCall: torch.ops.lib.twice(x)"]),
    "an operator of one's own by its function": ("return twice(x)", ["CustomCall: twice(x)"]),
    "a function of a package that is one of torch": ("import xformers.ops\nreturn xformers.ops.unbind(x, 0)", []),
    "sums of a package": ("import torch_scatter\nreturn torch_scatter.scatter_mean(x, lengths)", []),
    "a maximum of it": (
        "import torch_scatter\nreturn torch_scatter.scatter_max(x, lengths)",
        ["CustomCall: torch_scatter.scatter_max(x, lengths)"],
    ),
    "a compiled module inside of a package": (
        "import ops.roi_ext\nreturn ops.roi_ext.pool(x)",
        ["CustomCall: ops.roi_ext.pool(x)"],
    ),
    "a copy by Python": ("return copy.deepcopy(x)", ["TensorFromPython copy.deepcopy tensor: copy.deepcopy(x)"]),
    "a deep copy of a list of inputs": (
        "return copy.deepcopy([x, x])[0]",
        ["TensorFromPython copy.deepcopy tensor: copy.deepcopy([x, x])"],
    ),
    "a shallow copy of a list of inputs": ("return copy.copy([x, x])[0]", []),
    "a shallow copy of a dict of inputs": ("return copy.copy({'a': x})['a']", []),
    "a shallow copy of an input": ("return copy.copy(x)", ["TensorFromPython copy.copy tensor: copy.copy(x)"]),
    "a copy of a number": ("return x * copy.deepcopy(3)", []),
    "a layer built for a size": (
        "n = x.shape[0]\nreturn nn.Unflatten(0, (n // 2, 2))(x)",
        ["Call export-error: nn.Unflatten(0, (n // 2, 2))"],
    ),
    "a checkpoint": (
        "return torch.utils.checkpoint.checkpoint(self.lin, x)",
        ["Call export-error: torch.utils.checkpoint.checkpoint(self.lin, x)"],
    ),
    "a checkpoint of the newer kind": (
        "return torch.utils.checkpoint.checkpoint(self.lin, x, use_reentrant=False)",
        [],
    ),
    "a checkpoint in training": (
        "if self.training:\n    x = torch.utils.checkpoint.checkpoint(self.lin, x)\nreturn self.lin(x)",
        [],
    ),
    "a checkpoint behind a flag": (
        "if self.flag:\n    x = torch.utils.checkpoint.checkpoint(self.lin, x)\nreturn x",
        [],
    ),
    "a checkpoint behind a flag that is on": (
        "checkpointing = True\nif self.flag:\n    x = torch.utils.checkpoint.checkpoint(self.lin, x)\nreturn x",
        ["Call export-error: torch.utils.checkpoint.checkpoint(self.lin, x)"],
    ),
    "a layer built for a number": ("return nn.Unflatten(0, (-1, 2))(x)", []),
    "a kernel of a package": ("return flash_attn_func(x, x, x)", ["CustomCall: flash_attn_func(x, x, x)"]),
    "a compiled function": ("return swish(x)", ["CompileCall: torch.compile"]),
    "a layer called past its hooks": (
        "return self.normed.forward(x)",
        ["DirectForward: self.normed.forward(x)"],
    ),
    "the clock": ("return x * time.time()", ["ClockRead: time.time()"]),
    "the date, by way of a name": (
        "second = datetime.datetime.now().second\nreturn x * second",
        ["ClockRead: datetime.datetime.now()"],
    ),
    "data of an input": ("return x.data * 2", ["DataRead: x.data"]),
    "data of a weight": ("return x @ self.lin.weight.data", ["DataRead: self.lin.weight.data"]),
    "a write through data": ("y = x * 2\ny.data[0] = 0\nreturn y", ["DataRead: y.data"]),
    "a sparse product": ("return torch.sparse.mm(x, x)", ["SparseCall: torch.sparse.mm(x, x)"]),
    "a sparse tensor": ("return x.to_sparse().sum()", ["SparseCall: x.to_sparse()"]),
    "the floor of a half difference": (
        "return (lengths[:, None] - lengths[None]) // 2",
        ["FloorDivide: (lengths[:, None] - lengths[None]) // 2"],
    ),
    "the floor of what a layer gives": ("return self.lin(x) // 1", ["FloorDivide: self.lin(x) // 1"]),
    "the floor of a negative": ("return -lengths // 2", ["FloorDivide: -lengths // 2"]),
    "a difference shifted right": (
        "d = lengths[:, None] - lengths[None]\nreturn d >> 1",
        ["FloorDivide: d >> 1"],
    ),
    "a difference floored by a function": (
        "a = lengths.unsqueeze(1)\nb = lengths.unsqueeze(0)\nd = a - b\nreturn torch.floor_divide(d, 2)",
        ["FloorDivide: torch.floor_divide(d, 2)"],
    ),
    "a boolean mask in fused attention": (
        "m = mask.bool()\nreturn F.scaled_dot_product_attention(x, x, x, attn_mask=m)",
        ["AttentionMask: F.scaled_dot_product_attention(x, x, x, attn_mask=m)"],
    ),
    "a mask with a closed column in fused attention": (
        "m = mask.bool()\nm[:, 0] = False\nreturn F.scaled_dot_product_attention(x, x, x, attn_mask=m)",
        ["AttentionMask: F.scaled_dot_product_attention(x, x, x, attn_mask=m)"],
    ),
    "an input with another rank": ("x.unsqueeze_(0)\nreturn x * 2", ["InputReshape: x.unsqueeze_(0)"]),
    "the divisor of a pool": (
        "return F.avg_pool2d(x, 2, divisor_override=1)",
        ["Call wrong-values: F.avg_pool2d(x, 2, divisor_override=1)"],
    ),
    "windows along an axis counted from the back": (
        "y = torch.ones(3, 8) * x.sum()\nreturn y.unfold(-1, 2, 2)",
        ["Call wrong-values: y.unfold(-1, 2, 2)"],
    ),
    "windows along an axis counted from the back, by name": (
        "y = torch.ones(3, 8) * x.sum()\nreturn y.unfold(step=2, size=2, dimension=-2).sum(-1)",
        ["Call wrong-values: y.unfold(step=2, size=2, dimension=-2)"],
    ),
    "windows along an axis of nobody knows which size": (
        "return self.lin(x).unfold(-2, 2, 2)",
        ["Call wrong-values: self.lin(x).unfold(-2, 2, 2)?"],
    ),
    "windows along an axis that may be dynamic, counted from the back: refused or wrong": (
        "y = x.permute(0, 2, 1)\nreturn y.unfold(-1, 2, 2)",
        ["Call wrong-values: y.unfold(-1, 2, 2)", "SizeArgument: y.unfold(-1, 2, 2)?"],
    ),
    "windows along a dynamic axis counted from the back, which are refused": (
        "y = torch.ones(x.shape[0], 4) * x.sum()\nreturn y.unfold(-2, 2, 2)",
        ["SizeArgument: y.unfold(-2, 2, 2)"],
    ),
    "a distance that is not Euclid's": (
        "return torch.cdist(x, x, p=1.0)",
        ["Call export-error: torch.cdist(x, x, p=1.0)", "Call wrong-values: torch.cdist(x, x, p=1.0)"],
    ),
    "a distance that is not Euclid's, by position": (
        "return torch.cdist(x.new_zeros(2, 30, 3), x.new_zeros(2, 30, 3), 1.0)",
        [
            "Call export-error: torch.cdist(x.new_zeros(2, 30, 3), x.new_zeros(2, 30, 3), 1.0)",
            "Call wrong-values: torch.cdist(x.new_zeros(2, 30, 3), x.new_zeros(2, 30, 3), 1.0)",
        ],
    ),
    "a distance of few from few": (
        "a = torch.ones(4, 25, 3)\nreturn torch.cdist(a * x.sum(), a)",
        ["Call export-error: torch.cdist(a * x.sum(), a)"],
    ),
    "a distance of a batch from few": (
        "a = torch.ones(8, 4)\nb = torch.ones(x.shape[0], 4) * x.sum()\nreturn torch.cdist(b, a)",
        ["Call export-error: torch.cdist(b, a)?"],
    ),
    "a distance without a product": (
        "a = torch.ones(30, 3) * x.sum()\nreturn torch.cdist(a, a, compute_mode='donot_use_mm_for_euclid_dist')",
        ["Call export-error: torch.cdist(a, a, compute_mode='donot_use_mm_for_euclid_dist')"],
    ),
    "a distance of matrices from one": (
        "a = torch.ones(5, 3) * x.sum()\nreturn torch.cdist(a[None], a)",
        ["Call export-error: torch.cdist(a[None], a)", "Call wrong-values: torch.cdist(a[None], a)"],
    ),
    "an embedding with bounded rows": ("return self.limited(lengths)", ["Call wrong-values: self.limited(lengths)"]),
    "a sum into repeated places": (
        "return torch.zeros(4).index_put((lengths,), x, accumulate=True)",
        ["Call wrong-values: torch.zeros(4).index_put((lengths,), x, accumulate=True)"],
    ),
    "one before the first, of several indices": (
        "y = self.lin(x)\nlast = mask.int().argmax(-1) - 1\nreturn y[torch.arange(y.shape[0]), last]",
        ["Call wrong-values: y[torch.arange(y.shape[0]), last]"],
    ),
    "one before each, of several indices": (
        "rows = torch.arange(x.shape[0])\nreturn self.lin(x)[rows, rows - 1]",
        ["Call wrong-values: self.lin(x)[rows, rows - 1]"],
    ),
    "a mask before a column": (
        "y = x * 2\ny[x[:, 0] > 0, 2] = 1.0\nreturn y",
        ["Call wrong-values: y[x[:, 0] > 0, 2]"],
    ),
    "a mask before a slice": (
        "y = torch.zeros(x.shape[0], 4)\nrows = x.sum(-1) > 0\ny[rows, :2] += x[rows, :2]\nreturn y",
        ["Call wrong-values: y[rows, :2]"],
    ),
    "a mask behind a slice": (
        "y = x * 2\ny[:, x[0] > 0] = 1.0\nreturn y",
        ["Call export-error: y[:, x[0] > 0]"],
    ),
    "a mask behind an ellipsis": (
        "y = x * 2\ny[..., x[0] > 0] = 1.0\nreturn y",
        ["Call export-error: y[..., x[0] > 0]"],
    ),
    "positions modulo a size": (
        "places = torch.arange(x.shape[0]) % x.shape[0]\nreturn x + places[:, None]",
        ["Call export-error: torch.arange(x.shape[0]) % x.shape[0]"],
    ),
    "a search modulo a size, by its function": (
        "return x + torch.remainder(x.argmax(-1), x.shape[0])[:, None]",
        ["Call export-error: torch.remainder(x.argmax(-1), x.shape[0])"],
    ),
    "a power of a size": ("return x ** x.shape[0]", ["Call export-error: x ** x.shape[0]"]),
    "a global": ("global LAST\ny = x if LAST is None else x - LAST\nLAST = x\nreturn y", ["StateWrite global: LAST"]),
    "a list of the file": (
        "LOG.append(x)\nreturn torch.stack(LOG).sum(0)",
        ["StateWrite global: LOG"],
    ),
    "a dict of the file": (
        'y = x + STATE.get("last", 0)\nSTATE["last"] = x\nreturn y',
        ["StateWrite global: STATE"],
    ),
    "an attribute of the class": ("M.steps += 1\nreturn x * M.steps", ["StateWrite class: M.steps"]),
    "an attribute of the class by the object": (
        "type(self).steps = x.sum()\nreturn x * self.steps",
        ["StateWrite class: type(self).steps"],
    ),
    "a list of the model": (
        "self.history.append(x)\nreturn torch.stack(self.history).sum(0)",
        ["StateWrite container: self.history"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), FOUND.values(), ids=FOUND.keys())
def test_seen(body: str, expected: list[str]) -> None:
    assert told(forward(body)) == sorted(expected)


SILENT = {
    "complex numbers that no input is part of": "return x * torch.polar(torch.ones(4), torch.arange(4.0)).real",
    "a slice of complex numbers": "return x * self.turn[:2].real",
    "a gradient in training": "if self.training:\n    torch.autograd.grad(x.sum(), x)\nreturn x * 2",
    "autocast that is off": 'with torch.autocast("cuda", enabled=False):\n    return self.lin(x)',
    "autocast to single precision": "with torch.autocast(x.device.type, torch.float32):\n    return self.lin(x)",
    "no_grad": "with torch.no_grad():\n    return self.lin(x)",
    "a kernel behind a setting": "if self.fast:\n    return flash_attn_func(x, x, x)\nreturn x * 2",
    "a kernel behind a try": "try:\n    return flash_attn_func(x, x, x)\nexcept RuntimeError:\n    return x * 2",
    "a constant of a kernel package": "return x * flash_attn.version(3)",
    "an operator of torch's own library": "return torch.ops.aten.relu(x)",
    "a scripted function": "return scripted(x)",
    "a layer with hooks, called": "return self.normed(x)",
    "a layer without hooks, by its forward": "return self.lin.forward(x)",
    "the last of each by its length, of several indices": "y = self.lin(x)\n"
    "return y[torch.arange(y.shape[0]), lengths - 1]",
    "one before the first, counted from the end": "y = self.lin(x)\nlast = mask.int().argmax(-1) - 1\n"
    "last = torch.where(last < 0, last + y.shape[1], last)\nreturn y[torch.arange(y.shape[0]), last]",
    "one before the first, of one index": "return self.lin(x)[:, x.argmax(-1) - 1]",
    "a mask alone": "y = x * 2\ny[x > 0] = 1.0\nreturn y",
    "a mask before an ellipsis": "y = x * 2\ny[x[:, 0] > 0, ...] = 1.0\nreturn y",
    "a mask behind a number": "y = x * 2\ny[0, x[0] > 0] = 1.0\nreturn y",
    "a mask before a column, read": "y = x * 2\nreturn y * y[x[:, 0] > 0, 2].sum()",
    "positions modulo a number": "return x + (torch.arange(x.shape[0]) % 4)[:, None]",
    "floats modulo a size": "return self.lin(x) % x.shape[0]",
    "a write to one of several parts": "y = self.lin(x)\nq = y[:, 0]\nq *= 2\nreturn q + y[:, 1]",
    "a write to each of a list": "y = [self.lin(x)[:, :2]]\nfor row in y:\n    row += 1\nreturn torch.stack(y)",
    "a write through a slice on the spot": "y = self.lin(x)\ny[:, 0].add_(1)\ny.select(1, 1).mul_(2)\nreturn y",
    "two writes into slices of the tensor": "y = self.lin(x)\ny[:, :2] += 1\ny[:, :2] *= 2\nreturn y",
    "two writes through a slice that is all": "y = self.lin(x)\nleft = y[:, :2]\nleft += 1\nleft *= 2\nreturn left",
    "a new tensor by the name of a slice": "y = self.lin(x)\nleft = y[:, :2]\nleft = left * 2\nleft *= 2\nreturn y + 1",
    "the clock in a message": "start = time.time()\ny = x * 2\nprint(time.time() - start)\nreturn y",
    "a branch on the clock": "start = time.time()\nif time.time() - start > 5:\n    print('slow')\nreturn x * 2",
    "how many axes data has": "return x.view(2, -1) if x.data.dim() > 2 and x.data.ndim > 2 else x",
    "the shape of data that is not on the inputs": "return x * self.lin.weight.data.shape[0]",
    "a new tensor of the dtype of data": "return x + x.data.new(3).zero_()",
    "the dtype of data": "return mask.to(self.lin.weight.data.dtype)",
    "detach": "return x.detach() * 2",
    "a setting in a file": 'pickle.dump(self.fast, open("f", "wb"))\nreturn x * 2',
    "the floor of lengths": "return (lengths - 1) // 2 + 1",
    "the floor of a length between two places": "return (lengths - mask) // 2",
    "the floor of indices": "return x.argmax(-1) // 3 + torch.arange(9) // 3 + x.topk(2).indices // 3",
    "the floor of a distance": "return (lengths[:, None] - lengths[None]).abs() // 2",
    "the floor of a remainder": "return ((lengths[:, None] - lengths[None]) % 8) // 2",
    "the floor of a bounded difference": "return (lengths[:, None] - lengths[None]).clamp(min=0) // 2",
    "a floor that rounds down": 'return torch.div(lengths - mask, 2, rounding_mode="floor")',
    "a remainder": "return (lengths - mask) % 2",
    "a distance of many from few": "a = torch.ones(4, 26, 3) * x.sum()\nreturn torch.cdist(a, a[:, :5])",
    "a distance of many, by its number": "a = torch.ones(30, 3) * x.sum()\nreturn torch.cdist(a, a, p=2)",
    "a distance with a product": (
        "a = torch.ones(4, 3) * x.sum()\nreturn torch.cdist(a, a, 2.0, 'use_mm_for_euclid_dist')"
    ),
    "a distance of a batch from many": (
        "b = torch.ones(x.shape[0], 4) * x.sum()\nreturn torch.cdist(b, torch.ones(64, 4))"
    ),
    "a distance of nobody knows how many": "return torch.cdist(x, x)",
    "a distance of nobody knows which kind": "a = torch.ones(4, 3) * x.sum()\nreturn torch.cdist(a, a, p=self.fast)",
    "a causal mask in fused attention": (
        "m = torch.ones(4, 4, dtype=torch.bool).tril()\nreturn F.scaled_dot_product_attention(x, x, x, attn_mask=m)"
    ),
    "a bias in fused attention": "return F.scaled_dot_product_attention(x, x, x, attn_mask=self.lin(mask))",
    "a mask with a way out in fused attention": (
        "m = mask.bool()\nm = m | ~m.any(-1, keepdim=True)\nreturn F.scaled_dot_product_attention(x, x, x, attn_mask=m)"
    ),
    "a mask with an open column in fused attention": (
        "m = F.pad(mask.bool(), (1, 0), value=True)\nreturn F.scaled_dot_product_attention(x, x, x, attn_mask=m)"
    ),
    "a mask with an open diagonal in fused attention": (
        "m = (mask[:, None] > 0) & (mask[:, :, None] > 0)\ni = torch.arange(m.shape[1])\nm[:, i, i] = True\n"
        "return F.scaled_dot_product_attention(x, x, x, attn_mask=m.unsqueeze(1))"
    ),
    "another rank for a tensor of forward's own": "y = x * 2\ny.unsqueeze_(0)\nreturn y",
    "a pool with its own divisor": "return F.avg_pool2d(x, 2)",
    "windows along an axis counted from the front": "return x.new_zeros(2, 8).unfold(1, 2, 2) + x.sum()",
    "windows along an axis of nobody knows which sign": "return self.lin(x).unfold(self.fast, 2, 2)",
    "blocks of an image": "return F.unfold(x, 2)",
    "a write into one place": "return torch.zeros(4).index_put((lengths,), x)",
    "a list of forward's own": "out = []\nout.append(x)\nreturn torch.stack(out)",
    "a list that nobody reads": "LOG.append(1)\nreturn x * 2",
    "a list of the model that nobody reads": "self.history.append(x)\nreturn x * 2",
    "a dict of the model that is made anew": 'self.kept["x"] = x\nreturn self.kept["x"] * 2',
    "a setting kept in a global list": "LOG.append(self.fast)\nreturn x * len(LOG)",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT.keys())
def test_silent_about(body: str) -> None:
    assert told(forward(body)) == []


def test_a_part_that_is_compiled_or_scripted_by_itself() -> None:
    source = """
        class Part(nn.Module):
            def forward(self, x):
                return x * 2
        def helper(x):
            return x * 2
        class M(nn.Module):
            def __init__(self, fast=False):
                super().__init__()
                self.a = torch.jit.script(Part())
                self.b = torch.jit.trace(Part(), torch.ones(2))
                self.c = torch.compile(helper)
                self.d = torch.jit.script(helper)
                if fast:
                    self.a = torch.compile(self.a)
            def forward(self, x):
                return self.a(x)
    """
    assert told(source) == [
        "CompileCall: torch.compile(helper)",
        "CompileCall: torch.jit.script(Part())",
        "CompileCall: torch.jit.trace(Part(), torch.ones(2))",
    ]


def test_a_forward_that_is_compiled_is_looked_at_where_nothing_calls_it() -> None:
    source = """
        class M(nn.Module):
            @torch.compile
            def forward(self, x):
                return x * x.sum().item()
    """
    assert told(source) == ["CompileCall: torch.compile", "Escape .item() data: x.sum().item()"]


def test_a_model_that_a_script_compiles_is_no_part() -> None:
    source = """
        class M(nn.Module):
            def forward(self, x):
                return x * 2
        def main():
            model = torch.compile(M())
            torch.onnx.export(model, (torch.ones(2),), "m.onnx")
    """
    assert not any("CompileCall" in observation for observation in told(source))


@pytest.mark.parametrize(
    ("operator", "refused"),
    [
        ("quantized_decomposed.quantize_per_tensor", ("torchscript",)),
        ("quantized.add", ("dynamo",)),
        ("rulebook.soft_sign", ("torchscript", "dynamo")),
    ],
)
def test_who_has_no_translation_for_an_operator(operator: str, refused: tuple[str, ...]) -> None:
    found = findings_of(forward(f"return torch.ops.{operator}(x, 0.1)"))
    assert [effects for code, _, effects in found if code == "ONX409"] == [refused]


def test_a_module_that_turns_validation_off_for_all_distributions() -> None:
    switch = "torch.distributions.Distribution.set_default_validate_args(False)\n\n"
    body = forward("return torch.distributions.Normal(x, x.exp()).mean")
    assert told(body) == ["Call export-error: torch.distributions.Normal(x, x.exp())"]
    assert told(switch + body) == []


def test_what_a_kernel_writes_its_result_into_depends_on_the_inputs() -> None:
    body = "import ops.roi_ext\nout = torch.zeros(4, 4)\n{call}\nrows = out.sum(-1).nonzero()\nif rows.shape[0] < 3:\n"
    arms = "    return x\nreturn x * 2"
    branch = "Branch data: rows.shape[0] < 3"
    assert branch in told(forward(body.format(call="ops.roi_ext.pool(x, out)") + arms))
    assert branch not in told(forward(body.format(call="ops.roi_ext.pool(out)") + arms))


KERNELS = """
import operator, warnings
import somewhere
from torch.utils.cpp_extension import load
built = load(name="fast", sources=["fast.cu"])
class Fast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return {called}(x)
class M(nn.Module):
    def forward(self, x):
        return Fast.apply(x)
"""


@pytest.mark.parametrize(
    ("called", "kernel"),
    [
        ("built.run", True),
        ("somewhere.run", True),
        ("torch.relu", False),
        ("warnings.warn", False),
        ("operator.neg", False),
        ("print", False),
    ],
)
def test_what_an_autograd_function_calls_in_a_package_of_its_own_is_a_kernel(called: str, kernel: bool) -> None:
    found = {code for code, _, _ in findings_of(KERNELS.format(called=called))}
    assert ("ONX409" in found) is kernel


@pytest.mark.parametrize(("flag", "shown"), [("fast = True", 1), ("fast = False", 0), ("fast = x.is_cuda", 0)])
def test_a_kernel_in_an_arm_that_is_decided_has_no_way_around(flag: str, shown: int) -> None:
    arms = f"{flag}\n        if fast:\n            return Fast.apply(x)\n        return x"
    model = KERNELS.format(called="built.run").replace("return Fast.apply(x)", arms)
    assert [code for code, *_ in findings_of(model)].count("ONX409") == shown


def test_a_kernel_that_a_symbolic_function_stands_for_is_missed_by_dynamo_alone() -> None:
    symbolic = "    @staticmethod\n    def symbolic(g, x):\n        return g.op('my::Fast', x)\nclass M("
    for source, said in (
        (KERNELS, "neither exporter has a translation"),
        (KERNELS.replace("class M(", symbolic), "the dynamo exporter has no translation"),
    ):
        messages = [f.message for f in reported(source.format(called="built.run")) if f.code == "ONX409"]
        assert len(messages) == 1
        assert said in messages[0]


def test_the_launch_of_a_triton_kernel_over_a_grid() -> None:
    source = """
import triton
@triton.jit
def scan(x, y):
    pass
class M(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan[(4, 4)](x, y)
        return y
"""
    assert {code for code, *_ in findings_of(source)} == {"ONX409"}


def test_a_legacy_constructor_of_cuda_is_one_of_torch() -> None:
    model = "class M(nn.Module):\n    def forward(self, x):\n        return torch.cuda.FloatTensor(x.size(0), 3) + x\n"
    assert {code for code, _, _ in findings_of(model)} == {"ONX203"}
