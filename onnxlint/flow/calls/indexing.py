"""Subscripts of abstract values: tensors as torch indexes them, sequences, shapes, layers in containers."""

import ast
from itertools import dropwhile
from typing import TypeGuard

from onnxlint.flow.calls.attribute_access import read_dim, with_trace
from onnxlint.flow.lowering import exporter_support, index_lowering, sizes_as_numbers
from onnxlint.flow.python.entry_parameters import plain_name
from onnxlint.flow.python.implicit_calls import ITEMS
from onnxlint.flow.state.protocols import Applying, InContext, Lowering
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element, join_all

_SLICED = 4  # axes of `x.shape[1:]` that a model may ask for by number where the rank is not known


def subscript(engine: Applying, owner: dom.Value, index: list[dom.Value], node: ast.Subscript) -> dom.Value:
    """`owner[index]`."""
    first = index[0] if index else dom.UNKNOWN
    if isinstance(owner, dom.Tensor):
        return _index_tensor(engine, owner, index, node)
    if isinstance(owner, dom.Shape):
        if isinstance(first, dom.Tuple) and first.kind == "slice":
            return _slice_shape(engine, owner, first)
        return read_dim(engine, owner.tensor, first)
    if isinstance(first, (dom.Dim, dom.Data, dom.Tensor, dom.Tuple)) and len(index) == 1:
        sizes_as_numbers.looked_up(engine, owner, first, node)
    if isinstance(owner, (dom.Tuple, dom.Seq)):
        return _index_sequence(owner, first)
    if isinstance(owner, dom.Dict):
        return _by_key(engine, owner, first)
    if isinstance(owner, dom.Layer):
        return _index_layer(owner, first)
    if isinstance(owner, dom.Instance):
        return _index_instance(engine, owner, first, node)
    kernel = isinstance(owner, dom.Function) and owner.unit.has_decorator("triton.jit")  # `kernel[grid](x)`
    if kernel or isinstance(owner, (dom.Data, dom.Array)):
        return owner
    return dom.CONFIG if isinstance(owner, dom.Config) else dom.UNKNOWN


def _index_instance(engine: Applying, owner: dom.Instance, index: dom.Value, node: ast.Subscript) -> dom.Value:
    """`instance[index]`: `__getitem__`, or a field of an output record."""
    unit = owner.object.cls.find_method("__getitem__")
    if unit is not None:
        return engine.call_function(dom.Function(unit, owner), [index], {}, node)
    items = owner.object.attrs.get(ITEMS)
    if isinstance(items, dom.Layer):
        return subscript(engine, items, [index], node)
    if isinstance(index, dom.Const) and isinstance(index.literal, int) and owner.object.attrs:
        values = list(owner.object.attrs.values())
        return values[index.literal] if -len(values) <= index.literal < len(values) else dom.UNKNOWN
    return owner.object.attrs.get(str(index.literal), dom.UNKNOWN) if isinstance(index, dom.Const) else dom.UNKNOWN


def _by_key(engine: InContext, owner: dom.Dict, key: dom.Value) -> dom.Value:
    if not isinstance(key, dom.Const):
        return join_all(dom.contents(owner)) or dom.UNKNOWN
    v = owner.get(key.literal) or dom.UNKNOWN
    return dom.CONFIG if v is owner.rest and isinstance(v, dom.Tensor) and _is_setting(engine, key.literal) else v


def _is_setting(engine: InContext, key: object) -> bool:
    """True for the key of a dict under which a setting is kept."""
    return plain_name(key) or key in engine.flags


def _index_layer(owner: dom.Layer, first: dom.Value) -> dom.Value:
    if isinstance(owner.items, dom.Dict):
        named = owner.items.get(first.literal) if isinstance(first, dom.Const) else None
        return named or join_all(dom.contents(owner.items)) or dom.UNKNOWN
    if isinstance(owner.items, (dom.Tuple, dom.Seq)):
        inner = _index_sequence(owner.items, first)
        if isinstance(first, dom.Tuple) and first.kind == "slice" and isinstance(inner, (dom.Tuple, dom.Seq)):
            return replace(owner, items=inner)
        return inner
    return dom.UNKNOWN


def _index_sequence(owner: dom.Tuple | dom.Seq, first: dom.Value) -> dom.Value:
    number = dom.as_int(first)
    if isinstance(owner, dom.Seq):
        if number is not None and 0 <= number < len(owner.leading):
            return owner.leading[number]
        return replace(owner, leading=()) if isinstance(first, dom.Tuple) and first.kind == "slice" else owner.item
    if number is not None and -len(owner.items) <= number < len(owner.items):
        return owner.items[number]
    if isinstance(first, dom.Tuple) and first.kind == "slice":
        bounds = [None if dom.is_none(b) else dom.as_int(b) for b in first.items]
        if all(b is not None or dom.is_none(v) for b, v in zip(bounds, first.items, strict=True)) and bounds[2] != 0:
            return dom.Tuple(owner.items[slice(*bounds)], owner.kind, owner.trace)
        return dom.Seq(element(owner))
    return element(owner)


def _slice_shape(engine: InContext, shape: dom.Shape, bounds: dom.Tuple) -> dom.Value:
    t = shape.tensor
    numbers = [None if dom.is_none(b) else dom.as_int(b) for b in bounds.items]
    if numbers[2] == 0 or any(abs(n or 0) > dom.AXES for n in numbers):
        return dom.Seq(dom.CONFIG)
    if t.dims is not None:
        return dom.Tuple(tuple(with_trace(d, t) for d in t.dims[slice(*numbers)]))
    low, high = numbers[0] or 0, numbers[1]
    ended = low < 0 if high is None else high > 0 and low >= 0
    axes = range(low, (high or 0) if ended else low + _SLICED)
    extents = tuple(with_trace(shapes.extent_of(t, a, engine.context.axes), t) for a in axes)
    if ended:
        return dom.Tuple(extents)
    return dom.Seq(dom.CONFIG, leading=extents if low >= 0 and numbers[2] is None else ())


def _index_tensor(engine: Lowering, t: dom.Tensor, index: list[dom.Value], node: ast.Subscript) -> dom.Value:
    if index and isinstance(index[0], dom.Const) and isinstance(index[0].literal, str):  # it is a dict of more of these
        return dom.CONFIG if _is_setting(engine, index[0].literal) else replace(t, dims=None, lead=None, parameter="")
    engine.use_all(index, "an index")
    exporter_support.indexed(engine, t, index, node)
    index_lowering.read(engine, t, index, node)
    items = _expanded(t, index)
    source = "input" if any(isinstance(v, dom.Tensor) and v.source == "input" for v in index) else t.source
    gathered = any(isinstance(v, dom.Tensor) and v.dims != () for v in index)
    view = None if gathered else (t.view or "index")
    trace = t.trace or next((v.trace for v in index if isinstance(v, dom.Tensor)), None)
    guessed = t.guessed and len(index) == 1 and not gathered
    dims = _indexed(engine, t, items, node) if t.dims is not None and items is not None else None
    if dims is not None:
        return dom.Tensor(dims, None, source, t.kind, view, t.made_at if view else None, trace, guessed)
    return dom.Tensor(None, _first(engine, t, index, node), source, t.kind, view, None, trace, guessed)


def _expanded(t: dom.Tensor, index: list[dom.Value]) -> list[dom.Value] | None:
    """The index with a full slice for each axis that the ellipsis stands for; None where that cannot be told."""
    if t.dims is None:
        return None
    missing = len(t.dims) - sum(_consumes(v) for v in index if not dom.is_ellipsis(v))
    if missing < 0 or sum(map(dom.is_ellipsis, index)) > 1 or dom.UNKNOWN in index:
        return None
    whole: dom.Value = dom.Tuple((dom.NONE, dom.NONE, dom.NONE), "slice")
    at = next((i for i, v in enumerate(index) if dom.is_ellipsis(v)), len(index))
    return [*index[:at], *[whole] * missing, *index[at + 1 :]]


def _consumes(v: dom.Value) -> int:
    """How many axes an index takes."""
    if dom.is_none(v):
        return 0
    return len(v.dims) if isinstance(v, dom.Tensor) and v.kind == "bool" and v.dims is not None else 1


def _indexed(engine: InContext, t: dom.Tensor, items: list[dom.Value], node: ast.Subscript) -> shapes.Dims | None:
    """Dims of `t[items]`: slices and None in place, what is gathered at the first place of its indices, or in front."""
    rest = list(t.dims or ())
    result: list[dom.Extent] = []
    gathered: shapes.Dims | None = ()
    places: list[int] = []
    at = position = 0
    for v in items:
        size = rest[0] if rest else dom.CONFIG
        del rest[: _consumes(v)]
        if dom.is_none(v):
            result.append(dom.Const(1))
        elif _is_slice(v):
            result.append(_sliced(size, v))
        elif isinstance(v, (dom.Tensor, dom.Tuple, dom.Seq)) and not (isinstance(v, dom.Tensor) and v.dims == ()):
            at = at if places else len(result)
            places.append(position)
            gathered = shapes.broadcast(gathered, _gathers(engine, t, v, node))
        else:
            continue  # torch selects by numbers before it gathers
        position += 1
    if gathered is None:
        return None
    apart = bool(places) and places != list(range(places[0], places[-1] + 1))
    at = 0 if apart else at
    return (*result[:at], *gathered, *result[at:], *rest)


def _is_slice(v: dom.Value) -> TypeGuard[dom.Tuple]:
    return isinstance(v, dom.Tuple) and v.kind == "slice" and len(v.items) == 3


def _gathers(engine: InContext, t: dom.Tensor, v: dom.Value, node: ast.Subscript) -> shapes.Dims | None:
    """Dims of one index that gathers; None where its rank is not known."""
    if isinstance(v, dom.Tensor):
        if v.kind == "bool":
            return (dom.Data(engine.site(node, ""), t.fixed and v.fixed, True, t.trace or v.trace),)
        return v.dims
    if isinstance(v, dom.Tuple):
        return (dom.Const(len(v.items)),) if all(dom.as_int(i) is not None for i in v.items) else (dom.CONFIG,)
    return (shapes.from_value(v.size) if v.size is not None else dom.CONFIG,) if isinstance(v, dom.Seq) else ()


def _first(engine: InContext, t: dom.Tensor, index: list[dom.Value], node: ast.Subscript) -> dom.Extent | None:
    """The size of axis 0 of `t[index]` where the rank is not known."""
    first = index[0] if index else dom.UNKNOWN
    behind = dropwhile(lambda v: isinstance(v, (dom.Config, dom.Dim)) or dom.as_int(v) is not None, index)
    if dom.is_none(next(behind, dom.UNKNOWN)):  # in `t[None]`, and in `t[i, None]`
        return dom.Const(1)
    if dom.is_ellipsis(first):
        return t.lead
    if _is_slice(first):
        return _sliced(shapes.extent_of(t, 0, engine.context.axes), first)
    if isinstance(first, (dom.Tensor, dom.Tuple, dom.Seq)):
        dims = _gathers(engine, t, first, node)
        return dims[0] if dims else None
    return None


def _sliced(size: dom.Extent, bounds: dom.Tuple) -> dom.Extent:
    """The size of an axis after a slice; of a dynamic one, fixed bounds cut a fixed part, as far as there is one."""
    if all(dom.is_none(b) for b in bounds.items):
        return size
    if any(isinstance(b, (dom.Dim, dom.Data)) for b in bounds.items):
        return _between(size, bounds.items[0], bounds.items[1])
    if isinstance(size, dom.Data):
        return size
    cut = _literal_slice(bounds)
    whole = size.example if isinstance(size, dom.Dim) else dom.as_int(size)
    number = len(range(*cut.indices(whole))) if cut is not None and whole is not None and whole >= 0 else None
    if not isinstance(size, dom.Dim):
        return dom.Const(number) if number is not None else dom.CONFIG
    fixed = _fixed_part(cut, whole) if cut is not None else None
    return dom.Const(fixed) if fixed is not None else replace(size, plain=False, example=number, least=dom.REST)


def _literal_slice(bounds: dom.Tuple) -> slice | None:
    numbers = [dom.as_int(b) for b in bounds.items]
    literal = all(n is not None or dom.is_none(b) for n, b in zip(numbers, bounds.items, strict=True))
    return slice(*numbers) if literal and numbers[2] != 0 else None


def _fixed_part(cut: slice, whole: int | None) -> int | None:
    """The length of a slice that is the same for every size of the axis; `whole` is that of the example."""
    start, stop = cut.start or 0, cut.stop
    if cut.step not in (None, 1):
        return None
    if stop is not None and start >= 0 and stop > 0 and (whole is None or stop <= whole):
        return int(max(stop - start, 0))
    if start < 0 and (stop is None or start < stop < 0) and (whole is None or -start <= whole):
        return int((stop or 0) - start)
    return None


def _between(size: dom.Extent, low: dom.Value, high: dom.Value) -> dom.Extent:
    """The size of a slice whose bounds are sizes themselves: `x[:, :n]` is taken to have `n` there."""
    end = size if dom.is_none(high) else shapes.from_value(high)
    if dom.is_none(low) or dom.as_int(low) == 0:
        return replace(end, plain=False) if isinstance(end, dom.Dim) else end
    start = shapes.from_value(low)
    numbers = [d.example if isinstance(d, dom.Dim) else dom.as_int(d) for d in (start, end)]
    number = numbers[1] - numbers[0] if numbers[0] is not None and numbers[1] is not None else None
    between = shapes.combine(end, start, number)
    return replace(between, least=dom.REST) if isinstance(between, dom.Dim) else between
