"""What torch's functions and Tensor methods return, given abstract arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from onnxlint.flow import shapes
from onnxlint.flow.domain import (
    CONFIG,
    UNKNOWN,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    Seq,
    Shape,
    Tensor,
    Tuple,
    Value,
    as_int,
    element,
    first_dim,
    is_none,
)

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter


@dataclass(slots=True)
class Call:
    """One call of a torch operator: the tensor it works on is the first of `args`, method or function alike."""

    engine: Interpreter
    op: str
    name: str
    args: list[Value]
    kwargs: dict[str, Value]
    node: cst.CSTNode
    arg_nodes: Sequence[cst.CSTNode] = ()
    method: bool = False
    extra: dict[str, Value] = field(default_factory=dict)

    def arg(self, position: int, *names: str) -> Value | None:
        """An argument by position (0 is the tensor) or by one of its names."""
        for name in names:
            if name in self.kwargs:
                return self.kwargs[name]
        return self.args[position] if position < len(self.args) else None

    def int_arg(self, position: int, *names: str, default: int | None = None) -> int | None:
        """A literal integer argument; `default` where it is not given; None where it is not a literal."""
        given = self.arg(position, *names)
        return default if given is None else as_int(given)

    @property
    def tensor(self) -> Tensor:
        """The tensor that the operator works on."""
        first = self.args[0] if self.args else next((v for v in self.kwargs.values() if isinstance(v, Tensor)), None)
        return first if isinstance(first, Tensor) else Tensor(source="made")

    def tensors(self) -> list[Tensor]:
        """Every tensor among the arguments, lists of tensors included."""
        found: list[Tensor] = []
        for v in [*self.args, *self.kwargs.values()]:
            if isinstance(v, Tensor):
                found.append(v)
            elif isinstance(v, Tuple):
                found += [i for i in v.items if isinstance(i, Tensor)]
            elif isinstance(v, Seq) and isinstance(v.item, Tensor):
                found.append(v.item)
        return found

    def sizes(self, start: int, *names: str) -> list[Value] | None:
        """A size given as separate numbers or as one tuple; None where it cannot be told apart."""
        given = next((self.kwargs[n] for n in names if n in self.kwargs), None)
        rest = [given] if given is not None else self.args[start:]
        if len(rest) == 1:
            only = rest[0]
            if isinstance(only, Tuple):
                return list(only.items)
            if isinstance(only, Shape):
                return list(only.tensor.dims) if only.tensor.dims is not None else None
            if isinstance(only, (Seq, Config)) or only == UNKNOWN:
                return None
        return list(rest)

    def made(self, dims: Sequence[Extent] | None, kind: str | None = None, source: str = "made") -> Tensor:
        """A fresh tensor made here."""
        return Tensor(tuple(dims) if dims is not None else None, None, source, kind, None, self.engine.place(self.node))

    def source(self) -> str:
        """What the result depends on: the inputs if any argument does."""
        found = [t.source for t in self.tensors()]
        return next((s for s in ("input", "weight") if s in found), "made")


Handler = Callable[[Call], Value]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register the transfer function of some operators."""

    def register(handler: Handler) -> Handler:
        for op in ops:
            HANDLERS[op] = handler
        return handler

    return register


def like(call: Call, dims: shapes.Dims | None, lead: Extent | None = None, kind: str | None = None) -> Tensor:
    """A result that depends on what the arguments depend on."""
    tensors = call.tensors()
    trace = next((t.trace for t in tensors if t.source == "input" and t.trace), None) or call.tensor.trace
    return Tensor(dims, lead if dims is None else None, call.source(), kind, None, None, trace)


@handles(
    "relu",
    "gelu",
    "silu",
    "sigmoid",
    "tanh",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "abs",
    "neg",
    "square",
    "pow",
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "where",
    "clamp",
    "clip",
    "clamp_min",
    "clamp_max",
    "maximum",
    "minimum",
    "masked_fill",
    "softplus",
    "leaky_relu",
    "elu",
    "hardswish",
    "mish",
    "erf",
    "sin",
    "cos",
    "atan2",
    "fmod",
    "remainder",
    "floor_divide",
    "lerp",
    "addcmul",
    "addcdiv",
    "nan_to_num",
    "round",
    "floor",
    "ceil",
    "sign",
    "dropout",
    "alpha_dropout",
    "feature_dropout",
    "dropout2d",
    "dropout1d",
    "dropout3d",
    "bernoulli",
)
def _elementwise(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    kind = call.tensor.kind if call.op in ("add", "sub", "mul", "abs", "neg", "clamp", "masked_fill") else None
    return like(call, dims, lead, kind)


@handles(
    "softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
    "flip",
    "roll",
    "sort",
    "layer_norm",
    "group_norm",
    "batch_norm",
    "instance_norm",
    "normalize",
    "rms_norm",
    "contiguous",
    "clone",
    "detach",
    "cpu",
    "cuda",
    "requires_grad_",
    "tril",
    "triu",
    "index_add",
    "index_copy",
    "index_fill",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "masked_scatter",
    "renorm",
    "fill",
    "zero",
    "copy",
    "to",
    "type",
    "type_as",
    "local_response_norm",
    "erfinv",
)
def _same(call: Call) -> Value:
    t = call.tensor
    result = like(call, t.dims, t.lead, _cast_kind(call) if call.op in ("to", "type") else t.kind)
    if call.op in ("contiguous", "detach", "to", "cpu"):
        result.view = t.view
        result.made_at = t.made_at
    return Tuple((result, replace(result, kind="int"))) if call.op == "sort" else result


def _cast_kind(call: Call) -> str | None:
    given = call.arg(1, "dtype")
    return kind_of(given) if given is not None else call.tensor.kind


def kind_of(v: Value | None) -> str | None:
    """The kind of numbers that a dtype argument stands for."""
    text = getattr(v, "name", "") if v is not None else ""
    tail = str(text).rpartition(".")[2]
    for kind, names in (
        ("int", ("int", "long", "short", "uint")),
        ("float", ("float", "half", "double", "bfloat")),
        ("bool", ("bool",)),
        ("complex", ("complex", "cfloat", "cdouble")),
    ):
        if tail.startswith(names):
            return kind
    return None


@handles("float", "double", "half", "bfloat16", "long", "int", "short", "bool")
def _cast(call: Call) -> Value:
    kind = {"long": "int", "int": "int", "short": "int", "bool": "bool"}.get(call.op, "float")
    return like(call, call.tensor.dims, call.tensor.lead, kind)


@handles(
    "eq",
    "ne",
    "gt",
    "lt",
    "ge",
    "le",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "logical_xor",
    "isclose",
    "isin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_not",
)
def _compare(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    return like(call, dims, lead, "bool")


@handles(
    "sum",
    "mean",
    "prod",
    "std",
    "var",
    "amax",
    "amin",
    "all",
    "any",
    "logsumexp",
    "norm",
    "argmax",
    "argmin",
    "max",
    "min",
    "median",
    "mode",
    "nansum",
    "nanmean",
    "count_nonzero",
    "quantile",
    "kthvalue",
    "aminmax",
)
def _reduce(call: Call) -> Value:
    t = call.tensor
    second = call.args[1] if len(call.args) > 1 else None
    if call.op in ("max", "min") and isinstance(second, Tensor):
        return _elementwise(call)
    position = 2 if call.op in ("norm", "quantile", "kthvalue") else 1
    given = call.arg(position, "dim", "axis")
    keep = call.arg(position + 1, "keepdim", "keepdims")
    axes = shapes.ints(given)
    kept = isinstance(keep, Const) and keep.literal is True
    if given is not None and not is_none(given) and axes is None:
        result = like(call, None)
    else:
        result = like(call, shapes.reduce(t, axes, kept))
        if result.dims is None and axes and 0 not in axes:
            result.lead = t.lead
    if call.op in ("argmax", "argmin", "count_nonzero"):
        result.kind = "int"
    elif call.op in ("all", "any"):
        result.kind = "bool"
    if call.op in ("max", "min", "median", "mode", "kthvalue") and axes is not None:
        return Tuple((result, replace(result, kind="int")))
    return result


@handles("std_mean", "var_mean")
def _reduce_two(call: Call) -> Value:
    one = _reduce(replace(call, op="std"))
    return Tuple((one, one))


@handles("view", "reshape")
def _view(call: Call) -> Value:
    sizes = call.sizes(1, "shape", "size")
    t = call.tensor
    if sizes is not None and len(sizes) == 1 and kind_of(sizes[0]) is not None:
        return like(call, t.dims, t.lead, kind_of(sizes[0]))  # view(dtype)
    if sizes is None:
        result = like(call, None, None, t.kind)
    else:
        call.engine.check_literal_sizes(call, t, sizes)
        result = like(call, shapes.reshape(t, sizes), None, t.kind)
    result.view = t.view or "view"
    result.made_at = t.made_at
    return result


@handles("view_as", "reshape_as", "expand_as")
def _as(call: Call) -> Value:
    other = call.arg(1, "other")
    dims = other.dims if isinstance(other, Tensor) else None
    return like(call, dims, first_dim(other) if isinstance(other, Tensor) else None, call.tensor.kind)


@handles("expand", "broadcast_to")
def _expand(call: Call) -> Value:
    t = call.tensor
    sizes = call.sizes(1, "size", "shape")
    if sizes is None:
        return like(call, None, None, t.kind)
    call.engine.check_literal_batch(call, t, sizes)
    dims: list[Extent] = []
    offset = len(sizes) - len(t.dims) if t.dims is not None else 0
    for i, s in enumerate(sizes):
        if as_int(s) == -1:
            dims.append(
                t.dims[i - offset] if t.dims is not None and i >= offset else shapes.extent_of(t, i, call.engine.axes)
            )
        else:
            dims.append(shapes.from_value(s))
    return like(call, tuple(dims), None, t.kind)


@handles("repeat", "tile")
def _repeat(call: Call) -> Value:
    t = call.tensor
    times = call.sizes(1, "repeats", "dims")
    if times is None:
        return like(call, None, None, t.kind)
    call.engine.check_literal_batch(call, t, times)
    if t.dims is None or len(times) < len(t.dims):
        lead = shapes.combine(t.lead, shapes.from_value(times[0])) if t.lead is not None and times else None
        return like(call, None, lead, t.kind)
    offset = len(times) - len(t.dims)
    dims: list[Extent] = []
    for i, n in enumerate(times):
        old: Extent = t.dims[i - offset] if i >= offset else Const(1)
        dims.append(shapes.fold((shapes.from_value(n), old)))
    return like(call, tuple(dims), None, t.kind)


@handles("repeat_interleave")
def _repeat_interleave(call: Call) -> Value:
    t = call.tensor
    times = call.arg(1, "repeats")
    axis = call.int_arg(2, "dim")
    if isinstance(times, Tensor) or t.dims is None or axis is None or shapes.normal(axis, len(t.dims)) is None:
        return like(call, None, None, t.kind)
    at = axis % len(t.dims)
    size = shapes.fold((t.dims[at], shapes.from_value(times) if times is not None else CONFIG))
    return like(call, (*t.dims[:at], size, *t.dims[at + 1 :]), None, t.kind)


@handles("flatten")
def _flatten(call: Call) -> Value:
    t = call.tensor
    start, end = call.int_arg(1, "start_dim", default=0), call.int_arg(2, "end_dim", default=-1)
    if t.dims is None or start is None or end is None:
        return like(call, None, t.lead if start else None, t.kind)
    first, last = shapes.normal(start, len(t.dims)), shapes.normal(end, len(t.dims))
    if first is None or last is None:
        return like(call, None, None, t.kind)
    dims = (*t.dims[:first], shapes.fold(t.dims[first : last + 1]), *t.dims[last + 1 :])
    return like(call, dims, None, t.kind)


@handles("unflatten")
def _unflatten(call: Call) -> Value:
    t = call.tensor
    axis = call.int_arg(1, "dim")
    sizes = call.sizes(2, "sizes", "unflattened_size")
    if t.dims is None or axis is None or sizes is None or shapes.normal(axis, len(t.dims)) is None:
        return like(call, None, t.lead if axis else None, t.kind)
    at = axis % len(t.dims)
    part = Tensor((t.dims[at],), None, t.source)
    return like(call, (*t.dims[:at], *shapes.reshape(part, sizes), *t.dims[at + 1 :]), None, t.kind)


@handles("transpose", "swapaxes", "swapdims")
def _transpose(call: Call) -> Value:
    t = call.tensor
    a, b = call.int_arg(1, "dim0", "axis0"), call.int_arg(2, "dim1", "axis1")
    result: Tensor
    if t.dims is None or a is None or b is None:
        result = like(call, None, t.lead if a is not None and b is not None and 0 not in (a, b) else None, t.kind)
    else:
        dims = list(t.dims)
        x, y = shapes.normal(a, len(dims)), shapes.normal(b, len(dims))
        if x is not None and y is not None:
            dims[x], dims[y] = dims[y], dims[x]
        result = like(call, tuple(dims), None, t.kind)
    result.view = t.view or "transpose"
    return result


@handles("t")
def _t(call: Call) -> Value:
    t = call.tensor
    return like(call, tuple(reversed(t.dims)) if t.dims is not None else None, None, t.kind)


@handles("permute")
def _permute(call: Call) -> Value:
    t = call.tensor
    order = [as_int(v) for v in call.sizes(1, "dims") or []]
    if None in order or not order:
        return like(call, None, None, t.kind)
    numbers = [n for n in order if n is not None]
    base = t.dims
    if base is None:
        base = tuple(shapes.extent_of(t, i, call.engine.axes) for i in range(len(numbers)))
    if any(shapes.normal(n, len(base)) is None for n in numbers):
        return like(call, None, None, t.kind)
    return replace(like(call, tuple(base[n] for n in numbers), None, t.kind), view=t.view or "permute")


@handles("movedim", "moveaxis")
def _movedim(call: Call) -> Value:
    return like(call, None, None, call.tensor.kind)


@handles("unsqueeze")
def _unsqueeze(call: Call) -> Value:
    t = call.tensor
    axis = call.int_arg(1, "dim")
    if t.dims is None or axis is None or not -len(t.dims) - 1 <= axis <= len(t.dims):
        return like(call, None, Const(1) if axis == 0 else (t.lead if axis is not None else None), t.kind)
    at = axis % (len(t.dims) + 1)
    return replace(like(call, (*t.dims[:at], Const(1), *t.dims[at:]), None, t.kind), view=t.view or "unsqueeze")


@handles("squeeze")
def _squeeze(call: Call) -> Value:
    t = call.tensor
    given = call.arg(1, "dim")
    if given is None:
        kept = tuple(d for d in t.dims if as_int(d) != 1) if t.dims is not None else None
        return like(call, kept, None, t.kind)
    axes = shapes.ints(given)
    if t.dims is None or axes is None:
        return like(call, None, t.lead if axes and 0 not in axes else None, t.kind)
    gone = {shapes.normal(a, len(t.dims)) for a in axes}
    return like(call, tuple(d for i, d in enumerate(t.dims) if i not in gone), None, t.kind)


@handles("cat", "concat", "concatenate", "hstack", "vstack", "dstack")
def _cat(call: Call) -> Value:
    tensors = call.tensors()
    axis = call.int_arg(1, "dim", "axis", default={"hstack": 1, "dstack": 2}.get(call.op, 0))
    first = call.args[0] if call.args else None
    grown = first.size if isinstance(first, Seq) else None
    if not tensors or axis is None or any(t.dims is None or len(t.dims) != len(tensors[0].dims or ()) for t in tensors):
        lead = next((t.lead or (t.dims[0] if t.dims else None) for t in tensors if t.source == "input"), None)
        return like(call, None, lead if axis else None, tensors[0].kind if tensors else None)
    rank = len(tensors[0].dims or ())
    at = shapes.normal(axis, rank)
    if at is None:
        return like(call, None)
    call.engine.check_same_batch(call, tensors, at)
    dims: list[Extent] = []
    for i in range(rank):
        column = [t.dims[i] for t in tensors if t.dims is not None]
        if i != at:
            dims.append(next((d for d in column if isinstance(d, (Dim, Data))), column[0]))
            continue
        total = column[0]
        for d in column[1:]:
            x, y = as_int(total), as_int(d)
            total = shapes.combine(total, d, x + y if x is not None and y is not None else None)
        if grown is not None or isinstance(first, Seq):
            total = shapes.combine(total, shapes.from_value(grown) if grown is not None else CONFIG)
        dims.append(total)
    return like(call, tuple(dims), None, tensors[0].kind)


@handles("stack")
def _stack(call: Call) -> Value:
    tensors = call.tensors()
    axis = call.int_arg(1, "dim", default=0)
    first = call.args[0] if call.args else None
    if not tensors or tensors[0].dims is None or axis is None:
        return like(call, None)
    count: Extent = Const(len(first.items)) if isinstance(first, Tuple) else CONFIG
    if isinstance(first, Seq) and first.size is not None:
        count = shapes.from_value(first.size)
    at = axis % (len(tensors[0].dims) + 1)
    return like(call, (*tensors[0].dims[:at], count, *tensors[0].dims[at:]), None, tensors[0].kind)


@handles("chunk", "split", "tensor_split", "split_with_sizes")
def _split(call: Call) -> Value:
    t = call.tensor
    how = call.arg(1, "chunks", "split_size", "split_size_or_sections", "split_sizes", "indices_or_sections")
    axis = call.int_arg(2, "dim", default=0)
    count = as_int(how) if call.op != "split" else None
    at = shapes.normal(axis, len(t.dims)) if t.dims is not None and axis is not None else None
    parts: list[Extent] = [CONFIG]
    number: int | None = None
    if isinstance(how, Tuple):
        number, parts = len(how.items), [shapes.from_value(i) for i in how.items]
    elif count is not None and call.op in ("chunk", "tensor_split"):
        number = count
        whole = t.dims[at] if t.dims is not None and at is not None else CONFIG
        size = as_int(whole)
        part: Extent = shapes.combine(whole, Const(count), size // count if size is not None and count else None)
        parts = [part] * count
    elif isinstance(how, (Dim, Const)) and t.dims is not None and at is not None:
        parts = [shapes.from_value(how)]

    def piece(extent: Extent) -> Tensor:
        dims = (*t.dims[:at], extent, *t.dims[at + 1 :]) if t.dims is not None and at is not None else None
        return Tensor(dims, t.lead if dims is None and axis != 0 else None, t.source, t.kind, call.op, None, t.trace)

    if number is not None and 0 < number <= 16:
        return Tuple(tuple(piece(p) for p in parts))
    whole = t.dims[at] if t.dims is not None and at is not None else CONFIG
    return Seq(piece(parts[0]), whole if isinstance(whole, Dim) else None)


@handles("unbind")
def _unbind(call: Call) -> Value:
    t = call.tensor
    axis = call.int_arg(1, "dim", default=0)
    if t.dims is None or axis is None or shapes.normal(axis, len(t.dims)) is None:
        return Seq(Tensor(None, None, t.source, t.kind, "unbind", None, t.trace))
    at = axis % len(t.dims)
    item = Tensor((*t.dims[:at], *t.dims[at + 1 :]), None, t.source, t.kind, "unbind", None, t.trace)
    count = as_int(t.dims[at])
    if count is not None and count <= 16:
        return Tuple((item,) * count)
    return Seq(item, t.dims[at] if isinstance(t.dims[at], Dim) else None)


@handles("matmul", "mm", "bmm", "baddbmm", "addmm")
def _matmul(call: Call) -> Value:
    operands = call.args[1:] if call.op in ("baddbmm", "addmm") else call.args
    tensors = [v for v in operands if isinstance(v, Tensor)]
    if len(tensors) < 2:
        return like(call, None)
    a, b = tensors[0], tensors[1]
    if a.dims is None or b.dims is None or len(a.dims) < 2 or len(b.dims) < 2:
        return like(call, None, shapes.elementwise([a, b])[1])
    head = shapes.broadcast(a.dims[:-2], b.dims[:-2]) or ()
    return like(call, (*head, a.dims[-2], b.dims[-1]))


@handles("linear")
def _linear(call: Call) -> Value:
    t = call.tensor
    weight = call.arg(1, "weight")
    last = weight.dims[0] if isinstance(weight, Tensor) and weight.dims else CONFIG
    return like(call, (*t.dims[:-1], last) if t.dims else None, t.lead)


@handles("embedding")
def _embedding(call: Call) -> Value:
    t = call.tensor
    weight = call.arg(1, "weight")
    width = weight.dims[-1] if isinstance(weight, Tensor) and weight.dims else CONFIG
    return like(call, (*t.dims, width) if t.dims is not None else None, t.lead, "float")


@handles(
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "pixel_shuffle",
    "pixel_unshuffle",
)
def _spatial(call: Call) -> Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, t.lead)
    keeps_channels = "pool" in call.op
    weight = call.arg(1, "weight")
    channels = (
        t.dims[1:2]
        if keeps_channels
        else (weight.dims[:1] if isinstance(weight, Tensor) and weight.dims else (CONFIG,))
    )
    spatial = tuple(shapes.window(d, None, None, None) for d in t.dims[2:])
    return like(call, (*t.dims[:1], *channels, *spatial))


@handles(
    "interpolate",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "grid_sample",
    "upsample",
)
def _resize(call: Call) -> Value:
    t = call.tensor
    if t.dims is None or len(t.dims) < 3:
        return like(call, None, t.lead)
    given = call.arg(1, "size", "output_size")
    count = len(t.dims) - 2
    spatial: tuple[Extent, ...]
    if isinstance(given, Tuple) and len(given.items) == count:
        spatial = tuple(d if is_none(v) else shapes.from_value(v) for v, d in zip(given.items, t.dims[2:], strict=True))
    elif call.op == "grid_sample" and isinstance(given, Tensor):
        spatial = given.dims[1:-1] if given.dims is not None else (CONFIG,) * count
    elif given is not None and not is_none(given) and not isinstance(given, (Seq, Shape)):
        spatial = (shapes.from_value(given),) * count
    else:
        spatial = tuple(shapes.window(d, None, None, None) for d in t.dims[2:])
    return like(call, (*t.dims[:2], *spatial))


@handles("pad")
def _pad(call: Call) -> Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, t.lead, t.kind)
    amounts = call.arg(1, "pad")
    touched = len(amounts.items) // 2 if isinstance(amounts, Tuple) else len(t.dims)
    dims = tuple(d if i < len(t.dims) - touched else shapes.combine(d, CONFIG) for i, d in enumerate(t.dims))
    return like(call, dims, None, t.kind)


@handles("topk")
def _topk(call: Call) -> Value:
    t = call.tensor
    k, axis = call.arg(1, "k"), call.int_arg(2, "dim", default=-1)
    dims: shapes.Dims | None = None
    if t.dims is not None and axis is not None and shapes.normal(axis, len(t.dims)) is not None:
        at = axis % len(t.dims)
        dims = (*t.dims[:at], shapes.from_value(k) if k is not None else CONFIG, *t.dims[at + 1 :])
    one = like(call, dims, t.lead, t.kind)
    return Tuple((one, replace(one, kind="int")))


@handles("gather", "take_along_dim")
def _gather(call: Call) -> Value:
    index = call.arg(2, "index", "indices") if call.op == "gather" else call.arg(1, "indices")
    return like(call, index.dims if isinstance(index, Tensor) else None, call.tensor.lead, call.tensor.kind)


@handles("index_select")
def _index_select(call: Call) -> Value:
    t, axis, index = call.tensor, call.int_arg(1, "dim"), call.arg(2, "index")
    if t.dims is None or axis is None or not isinstance(index, Tensor) or not index.dims:
        return like(call, None, None, t.kind)
    at = axis % len(t.dims)
    return like(call, (*t.dims[:at], index.dims[0], *t.dims[at + 1 :]), None, t.kind)


@handles("one_hot")
def _one_hot(call: Call) -> Value:
    t = call.tensor
    return like(call, (*t.dims, CONFIG) if t.dims is not None else None, t.lead, "int")


@handles("cdist")
def _cdist(call: Call) -> Value:
    a, b = call.arg(0, "x1"), call.arg(1, "x2")
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dims and b.dims and len(a.dims) > 1 and len(b.dims) > 1:
        return like(call, (*a.dims[:-1], b.dims[-2]))
    return like(call, None, call.tensor.lead)


@handles("scaled_dot_product_attention")
def _attention(call: Call) -> Value:
    q, v = call.arg(0, "query"), call.arg(2, "value")
    if isinstance(q, Tensor) and isinstance(v, Tensor) and q.dims and v.dims:
        return like(call, (*q.dims[:-1], v.dims[-1]))
    return like(call, None, call.tensor.lead)


@handles("nonzero", "argwhere")
def _nonzero(call: Call) -> Value:
    t = call.tensor
    ragged = Data(call.engine.site(call.node, ""), t.source != "input", True, t.trace)
    rank: Extent = Const(len(t.dims)) if t.dims is not None else CONFIG
    as_tuple = call.arg(1, "as_tuple")
    if isinstance(as_tuple, Const) and as_tuple.literal is True:
        one = like(call, (ragged,), None, "int")
        return Tuple((one,) * len(t.dims)) if t.dims is not None else Seq(one)
    return like(call, (ragged, rank), None, "int")


@handles("where1")
def _where_one(call: Call) -> Value:
    return _nonzero(replace(call, kwargs={"as_tuple": Const(True)}))


@handles("masked_select")
def _masked_select(call: Call) -> Value:
    t = call.tensor
    ragged = Data(call.engine.site(call.node, ""), t.source != "input", True, t.trace)
    return like(call, (ragged,), None, t.kind)


@handles("unique", "unique_consecutive")
def _unique(call: Call) -> Value:
    t = call.tensor
    ragged = Data(call.engine.site(call.node, ""), t.source != "input", True, t.trace)
    values = like(call, (ragged,), None, t.kind)
    results: list[Value] = [values]
    for position, name in ((2, "return_inverse"), (3, "return_counts")):
        flag = call.arg(position if call.op == "unique" else position - 1, name)
        if isinstance(flag, Const) and flag.literal is True:
            results.append(like(call, t.dims if position == 2 else (ragged,), None, "int"))
    return Tuple(tuple(results)) if len(results) > 1 else values


@handles("bincount")
def _bincount(call: Call) -> Value:
    ragged = Data(call.engine.site(call.node, ""), call.tensor.source != "input", True, call.tensor.trace)
    return like(call, (ragged,), None, "int")


@handles("zeros", "ones", "empty", "rand", "randn", "full")
def _creation(call: Call) -> Value:
    if call.op == "full":
        given = call.arg(0, "size")
        sizes = list(given.items) if isinstance(given, Tuple) else None
        if isinstance(given, Shape) and given.tensor.dims is not None:
            sizes = list(given.tensor.dims)
    else:
        sizes = call.sizes(0, "size")
    call.engine.use_all(call.args, call.op)
    dims = tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None
    kind = kind_of(call.kwargs.get("dtype")) or ("float" if call.op != "full" else None)
    return call.made(dims, kind)


@handles("new_zeros", "new_ones", "new_empty", "new_full")
def _new(call: Call) -> Value:
    sizes = call.sizes(1, "size")
    if call.op == "new_full":
        given = call.arg(1, "size")
        sizes = list(given.items) if isinstance(given, Tuple) else None
    return call.made(tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None, call.tensor.kind)


@handles("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like")
def _creation_like(call: Call) -> Value:
    t = call.tensor
    return Tensor(t.dims, t.lead, "made", kind_of(call.kwargs.get("dtype")) or t.kind, None, None, t.trace)


@handles("randint")
def _randint(call: Call) -> Value:
    given = call.kwargs.get("size") or next((v for v in reversed(call.args) if isinstance(v, Tuple)), None)
    dims = tuple(shapes.from_value(s) for s in given.items) if isinstance(given, Tuple) else None
    return call.made(dims, "int")


@handles("randperm")
def _randperm(call: Call) -> Value:
    given = call.arg(0, "n")
    return call.made((shapes.from_value(given) if given is not None else CONFIG,), "int")


@handles("arange", "linspace", "range")
def _arange(call: Call) -> Value:
    given = [v for v in call.args if isinstance(v, (Dim, Const, Config, Data, Tensor))][:3]
    call.engine.use_all(call.args, call.op)
    size: Extent = CONFIG
    if call.op == "linspace":
        steps = call.arg(2, "steps")
        size = shapes.from_value(steps) if steps is not None else CONFIG
    elif len(given) == 1:
        size = shapes.from_value(given[0])
    else:
        for v in [*given, *call.kwargs.values()]:
            if isinstance(v, (Dim, Data)):
                size = shapes.combine(size, v)
        numbers = [as_int(v) for v in given]
        if not isinstance(size, (Dim, Data)) and numbers and all(n is not None for n in numbers):
            known = [n for n in numbers if n is not None]
            size = Const(len(range(*known))) if len(known) in (2, 3) and (len(known) < 3 or known[2]) else CONFIG
    made = call.made((size,), "float" if call.op == "linspace" else "int")
    made.trace = next((v.trace for v in given if v.trace), None)
    return made


@handles("eye")
def _eye(call: Call) -> Value:
    a = call.arg(0, "n")
    b = call.arg(1, "m") or a
    return call.made(tuple(shapes.from_value(v) if v is not None else CONFIG for v in (a, b)), "float")


@handles(
    "tensor",
    "as_tensor",
    "from_numpy",
    "asarray",
    "scalar_tensor",
    "LongTensor",
    "FloatTensor",
    "IntTensor",
    "BoolTensor",
    "Tensor",
    "new_tensor",
)
def _tensor(call: Call) -> Value:
    given = call.args[1] if call.op == "new_tensor" and len(call.args) > 1 else call.arg(0, "data")
    return call.engine.tensor_from_python(call, given if given is not None else UNKNOWN)


@handles("meshgrid")
def _meshgrid(call: Call) -> Value:
    vectors = call.tensors()
    sizes = tuple(t.dims[0] if t.dims else CONFIG for t in vectors)
    one = like(call, sizes if sizes else None, None, vectors[0].kind if vectors else None)
    return Tuple((one,) * len(vectors)) if vectors else Seq(one)


@handles("einsum")
def _einsum(call: Call) -> Value:
    equation = call.args[0] if call.args else None
    tensors = call.tensors()
    text = equation.literal if isinstance(equation, Const) else None
    if not isinstance(text, str) or "->" not in text or "." in text:
        return like(call, None, shapes.elementwise(tensors)[1] if tensors else None)
    left, _, right = text.replace(" ", "").partition("->")
    sizes: dict[str, Extent] = {}
    for term, t in zip(left.split(","), tensors, strict=False):
        for i, letter in enumerate(term):
            extent = shapes.extent_of(t, i, call.engine.axes) if t.dims is None or i < len(t.dims) else CONFIG
            if letter not in sizes or isinstance(extent, Dim):
                sizes[letter] = extent
    return like(call, tuple(sizes.get(letter, CONFIG) for letter in right))


@handles("size")
def _size(call: Call) -> Value:
    axis = call.arg(1, "dim")
    if axis is None:
        return Shape(call.tensor, call.tensor.trace)
    return call.engine.read_dim(call.tensor, axis, call.node)


@handles("dim", "ndimension")
def _dim(call: Call) -> Value:
    return Const(len(call.tensor.dims)) if call.tensor.dims is not None else CONFIG


@handles("numel", "nelement", "numel_")
def _numel(call: Call) -> Value:
    t = call.tensor
    if t.ragged is not None:
        return Data(call.engine.site(call.node, ""), t.ragged.fixed, True, t.trace)
    if t.axes:
        return Dim(t.axes, plain=False, trace=t.trace)
    return CONFIG


@handles("cond")
def _cond(call: Call) -> Value:
    branch = call.arg(1, "true_fn")
    given = call.arg(3, "operands")
    values = list(given.items) if isinstance(given, Tuple) else []
    return call.engine.apply(branch, values, {}, call.node) if branch is not None else UNKNOWN


@handles("multinomial", "normal", "poisson")
def _draw(call: Call) -> Value:
    sizes = call.sizes(3, "size") if call.op == "normal" and ("size" in call.kwargs or len(call.args) > 2) else None
    if sizes is not None:
        return call.made(tuple(shapes.from_value(s) for s in sizes), "float")
    t = call.tensor
    return like(call, t.dims if call.op != "multinomial" else None, t.lead)


def result_by_table(call: Call, returns: str) -> Value:
    """The result of an operator without a transfer function of its own, by what the operator table says."""
    if returns == "tensor":
        return like(call, None, None)
    if returns == "tensors":
        return Seq(like(call, None, None))
    if returns in ("int", "float", "bool", "other", "none"):
        return CONFIG
    if returns == "shape":
        return Shape(call.tensor)
    return UNKNOWN


def numpy_result(call: Call) -> Value:
    """The result of a numpy function: an array of data if any argument is tensor data."""
    for v in [*call.args, *call.kwargs.values()]:
        inner = element(v) if isinstance(v, (Tuple, Seq)) else v
        if isinstance(inner, Array):
            return Array(inner.site, inner.fixed, inner.trace)
        if isinstance(inner, Tensor):
            return Array(call.engine.site(call.node, call.name), inner.source != "input", inner.trace)
        if isinstance(inner, Data):
            return Array(inner.site, inner.fixed, inner.trace)
        if isinstance(inner, Dim):
            site = inner.site or call.engine.site(call.node, call.name)
            return replace(inner, site=site, plain=False)
    return CONFIG


def dict_values(v: Dict) -> list[Value]:
    """Every value that a dict may hold."""
    return [i for _, i in v.items] + ([v.rest] if v.rest is not None else [])
