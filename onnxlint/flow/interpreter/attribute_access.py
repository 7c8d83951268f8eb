"""Attributes and items of abstract values, and the sizes that a shape gives."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from onnxlint.flow.interpreter.frame import UNROLL
from onnxlint.flow.lowering import exporter_support, layer_calls
from onnxlint.flow.lowering.unexportable_calls import clock
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import name_lookup
from onnxlint.flow.state.protocols import Engine, InContext, Reading
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.joins import element, item_of

_STATIC_ATTRIBUTES = frozenset(
    (
        "device dtype layout is_cuda is_cpu is_meta is_sparse is_quantized is_leaf requires_grad itemsize nbytes "
        "names grad_fn"
    ).split()
)
_LENGTH_NAMES = frozenset(
    (
        "t l s seq seq_len seq_length seqlen length tgt_len src_len q_len kv_len q_length k_length num_tokens T L S "
        "timesteps sequence_length input_length target_length max_len n_tokens"
    ).split()
)
_STATIC_NAMES = frozenset(
    (
        "c ch channels d dim hidden hidden_size hidden_dim e embed_dim emb_dim C D E num_channels n_channels "
        "in_channels features num_heads heads head_dim H_dim feat feat_dim d_model k v nc"
    ).split()
)


def attribute(engine: InContext, owner: dom.Value, name: str, node: ast.AST) -> dom.Value:
    """`owner.name`."""
    handler = _ATTRIBUTES.get(type(owner))
    return handler(engine, owner, name, node) if handler is not None else dom.UNKNOWN


def _of_tensor(engine: Engine, owner: dom.Tensor, name: str, node: ast.AST) -> dom.Value:
    if name == "data":
        exporter_support.data_attribute(engine, owner, node)
    if name in ("mT", "mH", "H"):
        exporter_support.matrix_transpose(engine, owner, name, node)
    if name == "shape":
        owner = unflattened_sizes.read_at(engine, owner, node)
    return _tensor_attribute(owner, name)


def _of_layer(_engine: Engine, owner: dom.Layer, name: str, _node: ast.AST) -> dom.Value:
    if isinstance(owner.items, dom.Dict) and any(k == name for k, _ in owner.items.items):
        return owner.items.get(name) or dom.UNKNOWN
    return dom.Method(owner, name) if name in _LAYER_METHODS else layer_calls.attribute(owner, name)


def _of_super(engine: Reading, owner: dom.Super, name: str, _node: ast.AST) -> dom.Value:
    unit = engine.super_method(owner, name)
    return unit if unit is not None else dom.Method(owner, name)


def _of_tuple(_engine: Engine, owner: dom.Tuple, name: str, _node: ast.AST) -> dom.Value:
    if name in _FIELDS and all(isinstance(i, dom.Tensor) for i in owner.items):
        at = _FIELDS.index(name)
        return owner.items[at] if at < len(owner.items) else dom.Method(owner, name)
    return dom.Method(owner, name)


_STRING_METHODS = frozenset(
    "get items keys values split startswith endswith format join lower upper copy append index count".split()
)

_ATTRIBUTES: dict[type, Callable[..., dom.Value]] = {
    dom.Tensor: _of_tensor,
    dom.External: lambda engine, owner, name, node: name_lookup.of_a_library(engine, f"{owner.name}.{name}"),
    dom.Instance: lambda engine, owner, name, node: engine.object_attribute(owner, name, node),
    dom.PyModule: lambda engine, owner, name, node: engine.global_value(owner.info, name, strict=True),
    dom.ClassRef: lambda engine, owner, name, node: engine.class_attribute(owner.info, name, owner),
    dom.Layer: _of_layer,
    dom.Super: _of_super,
    dom.Config: lambda _engine, owner, name, _node: (
        dom.Method(owner, name) if name in _STRING_METHODS else dom.Config(owner.trace)
    ),
    dom.Tuple: _of_tuple,
    dom.Data: lambda engine, owner, name, _: owner if clock(engine.table, owner) else dom.Method(owner, name),
    dom.Array: lambda _engine, owner, name, _: (
        dom.CONFIG if name in ("shape", "size", "ndim", "dtype") else dom.Method(owner, name)
    ),
    **dict.fromkeys(
        (dom.Shape, dom.Seq, dom.Dict, dom.Const, dom.Dim, dom.Lambda, dom.Scripted),
        lambda engine, owner, name, node: dom.Method(owner, name),
    ),
}

_LAYER_METHODS = frozenset(
    (
        "train eval to items keys values append extend insert forward __call__ parameters modules children "
        "named_children named_modules state_dict register_forward_hook get update pop register_forward_pre_hook apply "
        "float half cuda cpu double requires_grad_ load_state_dict add_module named_parameters buffers"
    ).split()
)

_FIELDS = ("values", "indices")  # of what max, min, sort, topk and their like give


def _tensor_attribute(t: dom.Tensor, name: str) -> dom.Value:
    if name == "shape":
        return dom.Shape(t, t.trace)
    if name in _STATIC_ATTRIBUTES:
        return dom.CONFIG
    if name == "ndim":
        return dom.Const(len(t.dims)) if t.dims is not None else dom.CONFIG
    if name in ("data", "grad"):
        return replace(t, view=None, given="")
    if name in ("T", "mT", "H", "mH"):
        dims = t.dims
        if dims is not None and len(dims) >= 2:
            dims = tuple(reversed(dims)) if name == "T" else (*dims[:-2], dims[-1], dims[-2])
        return replace(t, dims=dims, lead=None, view="transpose", given="")
    if name in ("real", "imag"):
        return replace(t, kind="float", view=name, given="")
    return dom.Method(t, name)


def read_dim(engine: InContext, t: dom.Tensor, axis: dom.Value) -> dom.Value:
    """`t.shape[axis]` or `t.size(axis)`."""
    number = dom.as_int(axis)
    if number is None:
        return dom.CONFIG if not t.axes else dom.Dim(t.axes, plain=False, trace=t.trace)
    extent = shapes.extent_of(t, number, engine.context.axes)
    if extent == dom.CONFIG and number == -1 and t.dims is None and t.source == "input" and _named_length(engine):
        extent = dom.Dim(frozenset(("length",)))
    return with_trace(extent, t)


def _named_length(engine: InContext) -> bool:
    """True in `length = x.shape[-1]` where nobody declared the axes: the name says what the last one is."""
    where = engine.context
    s = engine.frames[-1].statement_node if engine.frames and where.axes.declared is None else None
    if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name) or s.targets[0].id not in _LENGTH_NAMES:
        return False
    if where.set_length:
        return False
    asked = s.value.value if isinstance(s.value, ast.Subscript) else getattr(s.value, "func", None)
    return isinstance(asked, ast.Attribute) and asked.attr in ("shape", "size")


def with_trace(extent: dom.Extent, t: dom.Tensor) -> dom.Extent:
    """A size that knows how its tensor came to be."""
    if isinstance(extent, dom.Dim) and extent.trace is None:
        return replace(extent, trace=t.trace)
    return extent


def unpack_shape(
    engine: InContext, shape: dom.Shape, count: int, starred: int | None, names: Sequence[str]
) -> list[dom.Value]:
    """`b, n, c = x.shape`: the number of names is the rank."""
    t = shape.tensor
    if t.dims is not None and t.dims == shapes.unknown(replace(t, dims=None), count, engine.context.axes):
        t = replace(t, dims=None)
    if t.dims is not None and starred is None and len(t.dims) == count:
        return [with_trace(d, t) for d in t.dims]
    if starred is not None:
        parts: list[dom.Value] = []
        for i in range(count):
            if i < starred:
                parts.append(with_trace(shapes.extent_of(t, i, engine.context.axes), t))
            elif i == starred:
                known = t.dims[starred : len(t.dims) - (count - 1 - starred)] if t.dims is not None else None
                parts.append(dom.Tuple(tuple(known), "list") if known is not None else dom.Seq(dom.CONFIG))
            else:
                parts.append(with_trace(shapes.extent_of(t, i - count, engine.context.axes), t))
        return parts
    found: list[dom.Value] = []
    for i, name in enumerate(names):
        extent = with_trace(shapes.extent_of(t, i, engine.context.axes), t)
        if engine.context.axes.declared is None and t.dims is None:
            extent = _by_name(extent, name, i, count, engine.context.set_length)
        found.append(extent)
    return found


def _by_name(extent: dom.Extent, name: str, axis: int, rank: int, set_length: bool) -> dom.Extent:
    """What an undeclared axis is taken for: by the name that the code gives it, or static if it is the last."""
    if axis == 0 and isinstance(extent, dom.Dim):
        return extent
    if name in _LENGTH_NAMES and rank <= 4 and isinstance(extent, dom.Dim) and not set_length:
        return replace(extent, axes=frozenset(("length",)))
    if axis == rank - 1 or name in _STATIC_NAMES:
        return dom.CONFIG
    return extent


def items_of(engine: InContext, v: dom.Value, node: ast.AST) -> list[dom.Value]:
    """The items that a loop over `v` binds: each of a short literal sequence, one joined item of anything else."""
    if isinstance(v, dom.Layer):
        if isinstance(v.items, dom.Tuple):
            return items_of(engine, v.items, node)
        return [layer_calls.iterate(v)]
    if isinstance(v, dom.Tuple):
        if len(v.items) <= UNROLL:
            return list(v.items)
        return [element(v)]
    if isinstance(v, dom.Seq):
        return [v.item]
    if isinstance(v, dom.Tensor):
        return [item_of(v)]
    if isinstance(v, dom.Shape):
        return list(v.tensor.dims) if v.tensor.dims is not None else [dom.CONFIG]
    if isinstance(v, dom.Dict):
        return [dom.CONFIG]
    if isinstance(v, (dom.Config, dom.Const, dom.External)):
        return [dom.CONFIG]
    if isinstance(v, (dom.Data, dom.Array)):
        return [dom.Data(v.site, v.fixed, False, v.trace)]
    if isinstance(v, dom.Dim):
        return [dom.CONFIG]
    return [dom.UNKNOWN]
