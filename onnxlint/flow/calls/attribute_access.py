"""Attributes and items of abstract values, and the sizes that a shape gives."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from onnxlint.flow.lowering import exporter_support, layer_calls
from onnxlint.flow.lowering.unexportable_calls import clock
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import implicit_calls, name_lookup
from onnxlint.flow.state.protocols import Calling, Defining, InContext, Lowering, Reading, Recalling, Resolving
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element, item_of, join_all
from onnxlint.project.classes import ClassInfo, FunctionUnit

UNROLL = 8  # a literal sequence of at most so many items is walked item by item
_STATIC_ATTRIBUTES = frozenset(NAMES["static-attributes"])
_MODULE_METHODS = frozenset(NAMES["module-methods"])
_LENGTH_NAMES = frozenset(NAMES["length-names"])
_STATIC_NAMES = frozenset(NAMES["static-names"])


def attribute(engine: Reading, owner: dom.Value, name: str, node: ast.AST) -> dom.Value:
    """`owner.name`."""
    handler = _ATTRIBUTES.get(type(owner))
    return handler(engine, owner, name, node) if handler is not None else dom.UNKNOWN


def _of_tensor(engine: Lowering, owner: dom.Tensor, name: str, node: ast.AST) -> dom.Value:
    if name == "data" and not exporter_support.data_attribute(engine, owner, node):
        owner = unflattened_sizes.lost(engine, owner, owner, node)
    if name in ("mT", "mH", "H"):
        exporter_support.matrix_transpose(engine, owner, name, node)
    if name == "shape":
        owner = unflattened_sizes.read_at(engine, owner, node)
    return _tensor_attribute(owner, name)


def _of_layer(_engine: InContext, owner: dom.Layer, name: str, _node: ast.AST) -> dom.Value:
    if isinstance(owner.items, dom.Dict) and any(k == name for k, _ in owner.items.items):
        return owner.items.get(name) or dom.UNKNOWN
    return dom.Method(owner, name) if name in _LAYER_METHODS else layer_calls.attribute(owner, name)


def _of_dict(_engine: InContext, owner: dom.Dict, name: str, _node: ast.AST) -> dom.Value:
    """A method, or what a namespace holds under a name."""
    return next((v for key, v in (() if hasattr(dict, name) else owner.items) if key == name), dom.Method(owner, name))


def _in_mode_of(owner: dom.Instance, v: dom.Value) -> dom.Value:
    """A part of a module: what puts a model in a mode does so to all its parts."""
    if owner.mode == "train" or not isinstance(v, (dom.Instance, dom.Layer)) or v.mode != "train":
        return v
    return replace(v, mode=owner.mode)


def _of_instance(engine: Recalling, owner: dom.Instance, name: str, node: ast.AST) -> dom.Value:
    """`instance.name`."""
    obj = owner.object
    info = obj.cls
    engine.summaries.reads(obj, name)
    if name in obj.attrs:
        v = obj.attrs[name]
        late = name not in obj.settled and name in info.written_outside_init()
        usual = dom.or_default(v) if late else v
        if late and isinstance(usual, dom.Const) and not isinstance(usual.literal, str):
            return dom.UNKNOWN if dom.is_none(v) else dom.CONFIG
        return _in_mode_of(owner, v)
    if name == "training":
        return dom.Const(False)
    if name == "_orig_mod" and owner.wrapping == "compile":
        return replace(owner, wrapping="")
    unit = info.find_method(name)
    if unit is not None:
        return _bound(engine, owner, unit, node)
    definition = info.find_attribute(name)
    if definition is not None:
        v = engine.evaluate_in_class(*definition)
        if name in info.written_outside_init() and isinstance(v, dom.Const):
            return dom.UNKNOWN if dom.is_none(v) else dom.CONFIG
        if isinstance(v, dom.Function) and v.bound is None and v.unit.cls is None:
            return dom.Function(v.unit, owner, v.scope)  # a function of the class body is a method
        return v
    fallback = implicit_calls.fallback_attribute(engine, owner, name, node)
    if fallback is not None:
        return fallback
    return _of_any_module(owner, name) if info.is_module() else dom.UNKNOWN


def _bound(engine: Calling, owner: dom.Instance, unit: FunctionUnit, node: ast.AST) -> dom.Value:
    """A method as the attribute of an object: a property is called at once."""
    if unit.has_decorator("property", "cached_property"):
        return engine.call_function(dom.Function(unit, owner), [], {}, node)
    if unit.has_decorator("staticmethod"):
        return dom.Function(unit)
    if unit.has_decorator("classmethod"):
        return dom.Function(unit, dom.ClassRef(unit.cls) if unit.cls is not None else owner)
    return dom.Function(unit, owner)


def _of_any_module(owner: dom.Instance, name: str) -> dom.Value:
    """What a module of the project has from torch.nn.Module."""
    if name in ("device", "dtype", "config", "hparams"):
        return dom.CONFIG
    bases = owner.object.cls.external_bases() if name in ("items", "keys", "values") else ()
    if name in _MODULE_METHODS or any("Module" in b or "Seq" in b for b in bases):
        return dom.Method(owner, name)
    return owner.object.attrs.get("*", dom.UNKNOWN)


def _of_class(engine: Defining, owner: dom.ClassRef, name: str, _node: ast.AST) -> dom.Value:
    """`Class.name`."""
    info = owner.info
    unit = info.find_method(name)
    if unit is not None:
        return dom.Function(unit, owner) if unit.has_decorator("classmethod") else dom.Function(unit)
    definition = info.find_attribute(name)
    if definition is not None:
        return engine.evaluate_in_class(*definition)
    nested = info.module.classes.get(f"{info.qualname}.{name}")
    if nested is not None:
        return dom.ClassRef(nested)
    if name == "apply" and any(b.startswith("torch.autograd") for b in info.external_bases()):
        forward = info.find_method("forward")
        return dom.Function(forward, dom.UNKNOWN) if forward is not None else dom.UNKNOWN
    return dom.Method(owner, name)


def _of_super(_engine: InContext, owner: dom.Super, name: str, _node: ast.AST) -> dom.Value:
    """`super().name`: a method of the project further up, if there is one."""
    bound_class = owner.bound.object.cls if isinstance(owner.bound, dom.Instance) else owner.info
    cls = bound_class if owner.info in bound_class.mro() else owner.info
    unit = cls.find_method(name, owner.info)
    return dom.Function(unit, owner.bound) if unit is not None else dom.Method(owner, name)


def _of_tuple(_engine: InContext, owner: dom.Tuple, name: str, _node: ast.AST) -> dom.Value:
    if name in _FIELDS and all(isinstance(i, dom.Tensor) for i in owner.items):
        at = _FIELDS.index(name)
        return owner.items[at] if at < len(owner.items) else dom.Method(owner, name)
    return dom.Method(owner, name)


_OF_SETTINGS = frozenset(NAMES["setting-methods"])

_ATTRIBUTES: dict[type, Callable[[Reading, Any, str, ast.AST], dom.Value]] = {
    dom.Tensor: _of_tensor,
    dom.External: lambda engine, owner, name, node: name_lookup.of_a_library(engine, f"{owner.name}.{name}"),
    dom.Instance: _of_instance,
    dom.PyModule: lambda engine, owner, name, node: engine.global_value(owner.info, name, strict=True),
    dom.ClassRef: _of_class,
    dom.Layer: _of_layer,
    dom.Super: _of_super,
    dom.Config: lambda _engine, owner, name, _node: (
        dom.Method(owner, name) if name in _OF_SETTINGS else dom.Config(owner.trace)
    ),
    dom.Tuple: _of_tuple,
    dom.Dict: _of_dict,
    dom.Data: lambda engine, owner, name, _: owner if clock(engine.table, owner) else dom.Method(owner, name),
    dom.Array: lambda _engine, owner, name, _: (
        dom.CONFIG if name in ("shape", "size", "ndim", "dtype") else dom.Method(owner, name)
    ),
    **dict.fromkeys(
        (dom.Shape, dom.Seq, dom.Const, dom.Dim, dom.Lambda, dom.Scripted),
        lambda engine, owner, name, node: dom.Method(owner, name),
    ),
}

_LAYER_METHODS = frozenset(NAMES["layer-methods"])

_FIELDS = ("values", "indices")  # of what max, min, sort, topk and their like give


def _tensor_attribute(t: dom.Tensor, name: str) -> dom.Value:
    if name == "shape":
        return dom.Shape(t, t.trace)
    if name in _STATIC_ATTRIBUTES:
        return dom.CONFIG
    if name == "ndim":
        return dom.Const(len(t.dims)) if t.dims is not None else dom.CONFIG
    if name in ("data", "grad"):
        return replace(t, view=None, parameter="")
    if name in ("T", "mT", "H", "mH"):
        dims = t.dims
        if dims is not None and len(dims) >= 2:
            dims = tuple(reversed(dims)) if name == "T" else (*dims[:-2], dims[-1], dims[-2])
        return replace(t, dims=dims, lead=None, view="transpose", parameter="")
    return replace(t, kind="float", view=name, parameter="") if name in ("real", "imag") else dom.Method(t, name)


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
    return replace(extent, trace=t.trace) if isinstance(extent, dom.Dim) and extent.trace is None else extent


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
                rest = t.dims[starred : len(t.dims) - (count - 1 - starred)] if t.dims is not None else None
                parts.append(dom.Tuple(tuple(rest), "list") if rest is not None else dom.Seq(dom.CONFIG))
            else:
                parts.append(with_trace(shapes.extent_of(t, i - count, engine.context.axes), t))
        return parts
    sizes: list[dom.Value] = []
    for i, name in enumerate(names):
        extent = with_trace(shapes.extent_of(t, i, engine.context.axes), t)
        if engine.context.axes.declared is None and t.dims is None:
            extent = _by_name(extent, name, i, count, engine.context.set_length)
        sizes.append(extent)
    return sizes


def _by_name(extent: dom.Extent, name: str, axis: int, rank: int, set_length: bool) -> dom.Extent:
    """What an undeclared axis is taken for: by the name that the code gives it, or static if it is the last."""
    if axis == 0 and isinstance(extent, dom.Dim):
        return extent
    if name in _LENGTH_NAMES and rank <= 4 and isinstance(extent, dom.Dim) and not set_length:
        return replace(extent, axes=frozenset(("length",)))
    return dom.CONFIG if axis == rank - 1 or name in _STATIC_NAMES else extent


def loop_items(engine: Resolving, v: dom.Value, node: ast.AST) -> list[dom.Value]:
    """What a loop over `v` binds."""
    if isinstance(v, dom.Instance):
        unit = v.object.cls.find_method("__iter__")
        items = v.object.attrs.get(implicit_calls.ITEMS)
        if unit is None and items is not None:
            return items_of(engine, items, node)
        made = record_items(engine, v) if unit is None else engine.call_function(dom.Function(unit, v), [], {}, node)
        return items_of(engine, made, node)
    return items_of(engine, v, node)


def items_of(engine: InContext, v: dom.Value, node: ast.AST) -> list[dom.Value]:
    """The items that a loop over `v` binds: each of a short literal sequence, one joined item of anything else."""
    if isinstance(v, dom.Layer):
        return items_of(engine, v.items, node) if isinstance(v.items, dom.Tuple) else [layer_calls.iterate(v)]
    if isinstance(v, dom.Tuple):
        return list(v.items) if len(v.items) <= UNROLL else [element(v)]
    if isinstance(v, dom.Seq):
        return [v.item]
    if isinstance(v, dom.Tensor):
        return [item_of(v)]
    if isinstance(v, dom.Shape):
        return list(v.tensor.dims) if v.tensor.dims is not None else [dom.CONFIG]
    if isinstance(v, (dom.Data, dom.Array)):
        return [dom.Data(v.site, v.fixed, False, v.trace)]
    return [dom.CONFIG if isinstance(v, (dom.Dict, dom.Config, dom.Const, dom.External, dom.Dim)) else dom.UNKNOWN]


def any_module_of(owner: dom.Instance) -> dom.Value:
    """`getattr(name)` with a computed name: one of its modules."""
    modules = [v for v in owner.object.attrs.values() if isinstance(v, (dom.Instance, dom.Layer))]
    return owner.object.attrs.get("*") or (join_all(modules) if modules else None) or dom.UNKNOWN


def fields_of(info: ClassInfo) -> list[str]:
    """Names of the fields of a dataclass or a named tuple, those of its bases first."""
    return [name for c in reversed(info.mro()) for name in c.fields]


def record_items(engine: Defining, owner: dom.Instance) -> dom.Value:
    """The items of a named tuple."""
    info = owner.object.cls
    if not any(b.endswith("NamedTuple") for b in info.external_bases()):
        return dom.UNKNOWN
    items: list[dom.Value] = []
    for name in fields_of(info):
        default = info.find_attribute(name)
        passed = owner.object.attrs.get(name)
        items.append(passed or (engine.evaluate_in_class(*default) if default is not None else dom.UNKNOWN))
    return dom.Tuple(tuple(items))
