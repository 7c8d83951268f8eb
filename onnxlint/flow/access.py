"""Attributes, subscripts and items of abstract values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from onnxlint.flow import layers, shapes
from onnxlint.flow.domain import (
    CONFIG,
    UNKNOWN,
    Array,
    ClassRef,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    External,
    Instance,
    Lambda,
    Layer,
    Method,
    PyModule,
    Seq,
    Shape,
    Super,
    Tensor,
    Tuple,
    Value,
    as_int,
    element,
    is_none,
    join_all,
)
from onnxlint.flow.frame import UNROLL

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter

_STATIC_ATTRIBUTES = frozenset(
    [
        "device",
        "dtype",
        "layout",
        "is_cuda",
        "is_cpu",
        "is_meta",
        "is_sparse",
        "is_quantized",
        "is_leaf",
        "requires_grad",
        "itemsize",
        "nbytes",
        "names",
        "grad_fn",
    ]
)
_BATCH_NAMES = frozenset(
    ["b", "bs", "bsz", "batch", "batch_size", "nb", "bz", "B", "N", "num_batch", "nbatch", "_batch", "bsize"]
)
_LENGTH_NAMES = frozenset(
    [
        "t",
        "l",
        "s",
        "seq",
        "seq_len",
        "seq_length",
        "seqlen",
        "length",
        "tgt_len",
        "src_len",
        "q_len",
        "kv_len",
        "q_length",
        "k_length",
        "num_tokens",
        "T",
        "L",
        "S",
        "timesteps",
        "sequence_length",
        "input_length",
        "target_length",
        "max_len",
        "n_tokens",
    ]
)
_STATIC_NAMES = frozenset(
    [
        "c",
        "ch",
        "channels",
        "d",
        "dim",
        "hidden",
        "hidden_size",
        "hidden_dim",
        "e",
        "embed_dim",
        "emb_dim",
        "C",
        "D",
        "E",
        "num_channels",
        "n_channels",
        "in_channels",
        "features",
        "num_heads",
        "heads",
        "head_dim",
        "H_dim",
        "feat",
        "feat_dim",
        "d_model",
        "k",
        "v",
        "nc",
    ]
)


def attribute(engine: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    """`owner.name`."""
    if isinstance(owner, Tensor):
        return _tensor_attribute(owner, name)
    if isinstance(owner, External):
        return External(f"{owner.name}.{name}")
    if isinstance(owner, Instance):
        return engine.object_attribute(owner, name, node)
    if isinstance(owner, PyModule):
        return engine.global_value(owner.info, name, strict=True)
    if isinstance(owner, ClassRef):
        return engine.class_attribute(owner.info, name, owner)
    if isinstance(owner, Layer):
        if isinstance(owner.items, Dict) and any(k == name for k, _ in owner.items.items):
            return owner.items.get(name) or UNKNOWN
        if name in (
            "train",
            "eval",
            "to",
            "items",
            "keys",
            "values",
            "append",
            "extend",
            "insert",
            "forward",
            "__call__",
            "parameters",
            "modules",
            "children",
            "named_children",
            "named_modules",
            "state_dict",
            "register_forward_hook",
            "get",
            "update",
            "pop",
            "register_forward_pre_hook",
            "apply",
            "float",
            "half",
            "cuda",
            "cpu",
            "double",
            "requires_grad_",
            "load_state_dict",
            "add_module",
            "named_parameters",
            "buffers",
        ):
            return Method(owner, name)
        return layers.attribute(owner, name)
    if isinstance(owner, Super):
        unit = engine.super_method(owner, name)
        return unit if unit is not None else Method(owner, name)
    if isinstance(owner, Config):
        return Method(owner, name) if name in _STRING_METHODS else Config(owner.trace)
    if isinstance(owner, (Shape, Data, Array, Tuple, Seq, Dict, Const, Dim, Lambda)):
        if isinstance(owner, Array) and name in ("shape", "size", "ndim", "dtype"):
            return CONFIG
        return Method(owner, name)
    return UNKNOWN


_STRING_METHODS = frozenset(
    [
        "get",
        "items",
        "keys",
        "values",
        "split",
        "startswith",
        "endswith",
        "format",
        "join",
        "lower",
        "upper",
        "copy",
        "append",
        "index",
        "count",
    ]
)


def _tensor_attribute(t: Tensor, name: str) -> Value:
    if name == "shape":
        return Shape(t, t.trace)
    if name in _STATIC_ATTRIBUTES:
        return CONFIG
    if name == "ndim":
        return Const(len(t.dims)) if t.dims is not None else CONFIG
    if name in ("data", "grad"):
        return replace(t, view=None)
    if name in ("T", "mT", "H", "mH"):
        dims = t.dims
        if dims is not None and len(dims) >= 2:
            dims = tuple(reversed(dims)) if name == "T" else (*dims[:-2], dims[-1], dims[-2])
        return replace(t, dims=dims, lead=None, view="transpose")
    if name in ("real", "imag"):
        return replace(t, kind="float", view=name)
    return Method(t, name)


def read_dim(engine: Interpreter, t: Tensor, axis: Value, trace_name: str = "") -> Value:
    """`t.shape[axis]` or `t.size(axis)`."""
    del trace_name
    number = as_int(axis)
    if number is None:
        return CONFIG if not t.axes else Dim(t.axes, plain=False, trace=t.trace)
    extent = shapes.extent_of(t, number, engine.axes)
    return _with_trace(extent, t)


def _with_trace(extent: Extent, t: Tensor) -> Extent:
    if isinstance(extent, Dim) and extent.trace is None:
        return replace(extent, trace=t.trace)
    return extent


def unpack_shape(
    engine: Interpreter, shape: Shape, count: int, starred: int | None, names: Sequence[str]
) -> list[Value]:
    """`b, n, c = x.shape`: the number of names is the rank."""
    t = shape.tensor
    if t.dims is not None and starred is None and len(t.dims) == count:
        return [_with_trace(d, t) for d in t.dims]
    if starred is not None:
        parts: list[Value] = []
        for i in range(count):
            if i < starred:
                parts.append(_with_trace(shapes.extent_of(t, i, engine.axes), t))
            elif i == starred:
                known = t.dims[starred : len(t.dims) - (count - 1 - starred)] if t.dims is not None else None
                parts.append(Tuple(tuple(known), "list") if known is not None else Seq(CONFIG))
            else:
                parts.append(_with_trace(shapes.extent_of(t, i - count, engine.axes), t))
        return parts
    found: list[Value] = []
    for i, name in enumerate(names):
        extent = _with_trace(shapes.extent_of(t, i, engine.axes), t)
        if engine.axes.declared is None and t.dims is None:
            extent = _by_name(extent, name, i, count)
        found.append(extent)
    return found


def _by_name(extent: Extent, name: str, axis: int, rank: int) -> Extent:
    """What an undeclared axis is taken for: by the name that the code gives it, or static if it is the last."""
    if axis == 0 and isinstance(extent, Dim):
        return extent
    if name in _LENGTH_NAMES and rank <= 4 and isinstance(extent, Dim):
        return replace(extent, axes=frozenset(("length",)))
    if axis == rank - 1 or name in _STATIC_NAMES:
        return CONFIG
    return extent


def item_of(engine: Interpreter, t: Tensor, axis: int) -> Tensor:
    """`t[i]`."""
    if t.dims:
        return replace(t, dims=t.dims[1:], view="index")
    del engine, axis
    return replace(t, dims=None, lead=None, view="index")


def items_of(engine: Interpreter, v: Value, node: cst.CSTNode) -> list[Value]:
    """The items that a loop over `v` binds: each of a short literal sequence, one joined item of anything else."""
    if isinstance(v, Layer):
        if isinstance(v.items, Tuple):
            return items_of(engine, v.items, node)
        return [layers.iterate(v)]
    if isinstance(v, Tuple):
        if len(v.items) <= UNROLL:
            return list(v.items)
        return [element(v)]
    if isinstance(v, Seq):
        return [v.item]
    if isinstance(v, Tensor):
        return [item_of(engine, v, 0)]
    if isinstance(v, Shape):
        return list(v.tensor.dims) if v.tensor.dims is not None else [CONFIG]
    if isinstance(v, Dict):
        return [CONFIG]
    if isinstance(v, (Config, Const, External)):
        return [CONFIG]
    if isinstance(v, (Data, Array)):
        return [Data(v.site, v.fixed, False, v.trace)]
    if isinstance(v, Dim):
        return [CONFIG]
    return [UNKNOWN]


def subscript(engine: Interpreter, owner: Value, index: list[Value], node: cst.Subscript) -> Value:
    """`owner[index]`."""
    first = index[0] if index else UNKNOWN
    if isinstance(owner, Tensor):
        return _index_tensor(engine, owner, index, node)
    if isinstance(owner, Shape):
        if isinstance(first, Tuple) and first.kind == "slice":
            return _slice_shape(engine, owner, first)
        return read_dim(engine, owner.tensor, first)
    if isinstance(owner, (Tuple, Seq)):
        return _index_sequence(owner, first)
    if isinstance(owner, Dict):
        if isinstance(first, Const):
            return owner.get(first.literal) or UNKNOWN
        values = [v for _, v in owner.items] + ([owner.rest] if owner.rest is not None else [])
        return join_all(values) or UNKNOWN
    if isinstance(owner, Layer):
        return _index_layer(owner, first)
    if isinstance(owner, Instance):
        return engine.index_instance(owner, first, node)
    if isinstance(owner, Data):
        return owner
    if isinstance(owner, Array):
        return owner
    if isinstance(owner, Config):
        return CONFIG
    return UNKNOWN


def _index_layer(owner: Layer, first: Value) -> Value:
    if isinstance(owner.items, Dict):
        if isinstance(first, Const) and owner.items.get(first.literal) is not None:
            return owner.items.get(first.literal) or UNKNOWN
        return join_all([v for _, v in owner.items.items] + ([owner.items.rest] if owner.items.rest else [])) or UNKNOWN
    if isinstance(owner.items, (Tuple, Seq)):
        inner = _index_sequence(owner.items, first)
        if isinstance(first, Tuple) and first.kind == "slice" and isinstance(inner, (Tuple, Seq)):
            return replace(owner, items=inner)
        return inner
    return UNKNOWN


def _index_sequence(owner: Tuple | Seq, first: Value) -> Value:
    if isinstance(owner, Seq):
        return owner if isinstance(first, Tuple) and first.kind == "slice" else owner.item
    number = as_int(first)
    if number is not None and -len(owner.items) <= number < len(owner.items):
        return owner.items[number]
    if isinstance(first, Tuple) and first.kind == "slice":
        bounds = [None if is_none(b) else as_int(b) for b in first.items]
        if all(b is not None or is_none(v) for b, v in zip(bounds, first.items, strict=True)) and bounds[2] != 0:
            return Tuple(owner.items[slice(*bounds)], owner.kind, owner.trace)
        return Seq(element(owner))
    return element(owner)


def _slice_shape(engine: Interpreter, shape: Shape, bounds: Tuple) -> Value:
    t = shape.tensor
    numbers = [None if is_none(b) else as_int(b) for b in bounds.items]
    if t.dims is not None:
        return Tuple(tuple(_with_trace(d, t) for d in t.dims[slice(*numbers)]))
    low, high = numbers[0], numbers[1]
    if high is None and low is not None and low < 0:
        return Tuple(tuple(_with_trace(shapes.extent_of(t, a, engine.axes), t) for a in range(low, 0)))
    if high is not None and high > 0 and (low or 0) >= 0:
        return Tuple(tuple(_with_trace(shapes.extent_of(t, a, engine.axes), t) for a in range(low or 0, high)))
    return Seq(CONFIG)


def _index_tensor(engine: Interpreter, t: Tensor, index: list[Value], node: cst.Subscript) -> Value:
    engine.use_all(index, "an index")
    dims: list[Extent] = []
    rest = list(t.dims) if t.dims is not None else None
    lead: Extent | None = None
    exact = True
    gathered = False
    after_ellipsis = False
    for i, v in enumerate(index):
        remaining = sum(
            1
            for x in index[i + 1 :]
            if not is_none(x) and not (isinstance(x, External) and x.name == "builtins.Ellipsis")
        )
        if is_none(v):
            dims.append(Const(1))
        elif isinstance(v, External) and v.name == "builtins.Ellipsis":
            after_ellipsis = True
            if rest is not None:
                keep = max(len(rest) - remaining, 0)
                dims.extend(rest[:keep])
                del rest[:keep]
            else:
                exact = False
                lead = lead or t.lead
        elif isinstance(v, Tuple) and v.kind == "slice":
            size: Extent = rest.pop(0) if rest else CONFIG
            if rest is None and not after_ellipsis:
                size = shapes.extent_of(t, i, engine.axes)
            dims.append(_sliced(size, v))
        elif isinstance(v, Tensor):
            if rest:
                rest.pop(0)
            if v.kind == "bool":
                dims.append(
                    Data(engine.site(node, ""), t.source != "input" and v.source != "input", True, t.trace or v.trace)
                )
                exact = exact and v.dims is not None and len(v.dims) == 1
            elif not gathered:
                exact = exact and v.dims is not None
                dims.extend(v.dims or ())
            gathered = True
        elif isinstance(v, (Tuple, Seq)):
            if rest:
                rest.pop(0)
            dims.append(Const(len(v.items)) if isinstance(v, Tuple) else CONFIG)
        elif rest:
            rest.pop(0)
    source = t.source
    if any(isinstance(v, Tensor) and v.source == "input" for v in index):
        source = "input"
    view = None if gathered else (t.view or "index")
    trace = t.trace or next((v.trace for v in index if isinstance(v, Tensor)), None)
    if rest is not None and exact:
        return Tensor((*dims, *rest), None, source, t.kind, view, t.made_at if view else None, trace)
    lead = lead or (dims[0] if dims else None)
    return Tensor(None, lead, source, t.kind, view, None, trace, t.guessed and len(index) == 1 and not gathered)


def _sliced(size: Extent, bounds: Tuple) -> Extent:
    low, high, step = bounds.items
    if is_none(low) and is_none(high) and is_none(step):
        return size
    for b in (low, high):
        if isinstance(b, (Dim, Data)):
            return replace(b, plain=False) if isinstance(b, Dim) else b
    number = as_int(size)
    bound = [None if is_none(b) else as_int(b) for b in (low, high, step)]
    known = all(n is not None or is_none(b) for n, b in zip(bound, (low, high, step), strict=True))
    if number is not None and known and bound[2] != 0:
        return Const(len(range(*slice(*bound).indices(number))))
    if isinstance(size, Dim):
        if known and is_none(low) and bound[1] is not None and bound[1] > 0:
            return Const(bound[1])  # x[:, :4]: a fixed part, as far as there is one
        return replace(size, plain=False, example=None)
    return size if isinstance(size, Data) else CONFIG
