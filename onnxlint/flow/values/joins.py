"""How two abstract values join: what is known of a Python value that is the one or the other.

The order is a priority between kinds (a value that may be a tensor is a tensor) and, within a kind, field by field.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace

_PRIORITY: dict[type, int] = {kind: rank for rank, kind in enumerate(get_args(dom.Value))}
_MADE_OF_CODE = frozenset((dom.Instance, dom.ClassRef, dom.Function, dom.PyModule))
_PASSED_OVER: ContextVar[dict[dom.Value, None] | None] = ContextVar("_PASSED_OVER", default=None)


@contextmanager
def noting_passed_over(values: dict[dom.Value, None]) -> Iterator[None]:
    """Joins within the block put here what they take another value for: which of the two runs is not known."""
    token = _PASSED_OVER.set(values)
    try:
        yield
    finally:
        _PASSED_OVER.reset(token)


def _pass_over(v: dom.Value) -> None:
    values = _PASSED_OVER.get()
    if values is not None:
        values[v] = None


def _rank(v: dom.Value) -> int:
    return -1 if dom.is_none(v) else _PRIORITY[type(v)]


def fed(t: dom.Tensor, written: Iterable[dom.Value]) -> dom.Tensor:
    """A tensor after these were written into it: it depends on the inputs as soon as one of them does."""
    data = next((v for v in written if isinstance(v, dom.Tensor) and v.source == "input"), None)
    return t if data is None or t.source == "input" else replace(t, source="input", trace=t.trace or data.trace)


def join(a: dom.Value, b: dom.Value) -> dom.Value:
    """The least value that stands for both: the kind of higher priority, and its fields widened."""
    if a is b or a == b:
        return a
    ra, rb = _rank(a), _rank(b)
    if {type(a), type(b)} == {dom.Tuple, dom.Seq}:
        return _join_sequences(a, b)
    if ra != rb:
        upper, lower = (a, b) if ra > rb else (b, a)
        if type(lower) is dom.Const or not dom.is_no_none(lower):  # two of them are joined to what may be None
            upper = dom.or_none(upper)
        unread = type(lower) is dom.Unknown and type(upper) is dom.Instance
        if unread or (type(lower) in _MADE_OF_CODE and type(upper) in {*_MADE_OF_CODE, dom.Layer}):
            _pass_over(lower)
        if type(upper) is dom.Tensor and upper.parameter and not dom.is_none(lower):
            return replace(upper, parameter="")  # what a layer of which nothing is known made of it, say
        if type(upper) in (dom.Const, dom.Truth):
            # One value, or else another of which less is known: no condition may be decided by the first alone.
            return dom.Config(upper.trace or lower.trace)
        if type(upper) is dom.Config and upper.default is not None and upper.default != lower:
            return dom.Config(upper.trace)
        return upper
    joiner = _JOIN.get(type(a))
    return joiner(a, b) if joiner is not None else _choose(a, b)


def join_all(values: Iterable[dom.Value]) -> dom.Value | None:
    """Join any number of values; None for none."""
    result: dom.Value | None = None
    for v in values:
        result = v if result is None else join(result, v)
    return result


def join_returns(values: Sequence[dom.Value]) -> dom.Value | None:
    """Join what a function gives back; a tensor that may as well be a tuple, a dict or a record is a guess only."""
    truths = [v for v in values if isinstance(v, dom.Truth)]
    if truths and all(isinstance(v, dom.Truth) or (isinstance(v, dom.Const) and v.literal is False) for v in values):
        # Each was asked under some exporters, and False is what is left where asking fails: together they know all.
        return dom.Truth(frozenset(e for v in truths for e in v.exporters))
    joined = join_all(values)
    tuples = [v for v in values if isinstance(v, dom.Tuple)]
    if (
        isinstance(joined, dom.Tuple)
        and len(tuples) == len(values)
        and {len(v.items) for v in tuples} == {len(joined.items)}
    ):
        parts = (join_returns(items) or dom.UNKNOWN for items in zip(*(v.items for v in tuples), strict=True))
        return replace(joined, items=tuple(parts))
    if type(joined) is dom.Tensor and not joined.guessed:
        others = (dom.Tuple, dom.Seq, dom.Dict, dom.Instance)
        if any(isinstance(v, others) or (type(v) is dom.Tensor and v.guessed) for v in values):
            return replace(joined, guessed=True)
    return joined


def _choose(a: dom.Value, b: dom.Value) -> dom.Value:
    """Of two values that do not join, the one that comes first in the source."""
    first = min(a, b, key=_order)
    same = isinstance(a, dom.Instance) and isinstance(b, dom.Instance) and a.object.cls is b.object.cls
    if type(a) in _MADE_OF_CODE and not same:
        _pass_over(b if first is a else a)
    return first


def _order(v: dom.Value) -> tuple[str, int, str]:
    """What values of one kind are ordered by, the same in every run for the same source."""
    if isinstance(v, dom.Function):
        return f"{v.unit.module.path}:{v.unit.qualname}", v.unit.line, ""
    if isinstance(v, (dom.ClassRef, dom.Super)):
        return f"{v.info.module.path}:{v.info.qualname}", v.info.line, ""
    if isinstance(v, dom.PyModule):
        return v.info.path, 0, ""
    if isinstance(v, dom.Instance):
        return v.object.cls.qualname, v.object.serial, v.wrapping
    if isinstance(v, (dom.External, dom.Layer, dom.Method)):
        return v.name, 0, ""
    if isinstance(v, dom.Partial):
        inner = _order(v.function)
        return f"{type(v.function).__name__} {inner[0]}", inner[1], f"{len(v.args)} {[k for k, _ in v.kwargs]}"
    return (getattr(v.frame, "symbol", ""), id(v.node), "") if isinstance(v, dom.Lambda) else ("", 0, repr(v))


def _join_dim(a: dom.Dim, b: dom.Dim) -> dom.Value:
    example, least = a.example if a.example == b.example else None, max(a.least, b.least)
    site, plain = _earlier(a.site, b.site), a.plain and b.plain
    axes, trace, optional = a.axes | b.axes, a.trace or b.trace, a.optional or b.optional
    return dom.Dim(axes, example, site, plain, trace, least=least, optional=optional)


def _earlier(a: dom.Site | None, b: dom.Site | None) -> dom.Site | None:
    if a is None or b is None:
        return a or b
    if (a.place.order, a.how) == (b.place.order, b.how) and a != b:
        return min(a, b, key=lambda s: dataclasses.astuple(s.place.span))
    return min(a, b, key=lambda s: (s.place.order, s.how))


def join_extents(a: dom.Extent, b: dom.Extent) -> dom.Extent:
    """Join two sizes of one axis, which there is."""
    joined = dom.and_no_none(join(a, b))
    assert isinstance(joined, (dom.Dim, dom.Const, dom.Config, dom.Data))
    return joined


def _join_tensor(a: dom.Tensor, b: dom.Tensor) -> dom.Value:
    dims = None
    if a.dims is not None and b.dims is not None and len(a.dims) == len(b.dims):
        dims = tuple(join_extents(x, y) for x, y in zip(a.dims, b.dims, strict=True))
    leads = [dom.first_dim(a), dom.first_dim(b)]
    lead = None
    if dims is None and leads[0] is not None and leads[1] is not None:
        lead = join_extents(leads[0], leads[1])
    elif dims is None:  # of the other no more is known than that it may be as long
        lead = next((d for d in leads if isinstance(d, (dom.Dim, dom.Data))), None)
    kind = a.kind if a.kind == b.kind else "int" if {a.kind, b.kind} == {"int", "index"} else None
    view, parameter = a.view if a.view == b.view else None, a.parameter if a.parameter == b.parameter else ""
    made_at, trace = a.made_at if a.made_at == b.made_at else None, a.trace or b.trace
    source, guessed, distinct = dom.common_source((a, b)), a.guessed and b.guessed, a.distinct and b.distinct
    optional = a.optional or b.optional
    return dom.Tensor(dims, lead, source, kind, view, made_at, trace, guessed, parameter, distinct, optional)


def _join_shape(a: dom.Shape, b: dom.Shape) -> dom.Value:
    joined = _join_tensor(a.tensor, b.tensor)
    assert isinstance(joined, dom.Tensor)
    return dom.Shape(joined, a.trace or b.trace)


def _join_read(a: Any, b: Any) -> dom.Value:
    site = _earlier(a.site, b.site)
    assert site is not None
    if isinstance(a, dom.Data):
        return dom.Data(site, a.fixed and b.fixed, a.sized and b.sized, a.trace or b.trace)
    return dom.Array(site, a.fixed and b.fixed, a.trace or b.trace)


def _join_sequences(a: Any, b: Any) -> dom.Value:
    optional = a.optional or b.optional
    if isinstance(a, dom.Tuple) and isinstance(b, dom.Tuple) and len(a.items) == len(b.items):
        kind = a.kind if a.kind == b.kind else "tuple"
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
        return dom.Tuple(items, kind, a.trace or b.trace, optional)
    item = join(element(a), element(b))
    sizes = [s.size for s in (a, b) if isinstance(s, dom.Seq) and s.size is not None]
    return dom.Seq(item, join_all(sizes), a.trace or b.trace, optional)


def element(v: dom.Tuple | dom.Seq) -> dom.Value:
    """What any item of a sequence may be."""
    return v.item if isinstance(v, dom.Seq) else join_all(v.items) or dom.UNKNOWN


def item_of(t: dom.Tensor) -> dom.Tensor:
    """Any `t[i]`, along the first axis."""
    return replace(t, dims=t.dims[1:] if t.dims else None, lead=t.lead if t.dims else None, view="row", parameter="")


def updated(owner: dom.Dict, new: dom.Dict) -> dom.Dict:
    """A dict after `owner.update(new)`: a key that it has stays where it is."""
    items = tuple({**dict(owner.items), **dict(new.items)}.items())
    return dom.Dict(items, _join_optional(owner.rest, new.rest), owner.trace, owner.merged or new.merged)


def _join_dict(a: dom.Dict, b: dom.Dict) -> dom.Value:
    left, right = dict(a.items), dict(b.items)
    merged = a.merged or b.merged or [*left] != [*right]
    keys = sorted({**left, **right}, key=repr) if merged else left
    items = tuple((k, v) for k in keys if (v := _join_optional(left.get(k), right.get(k))) is not None)
    return dom.Dict(items, _join_optional(a.rest, b.rest), a.trace or b.trace, merged)


def _join_layer(a: dom.Layer, b: dom.Layer) -> dom.Value:
    if a.name != b.name:
        return _choose(a, b)
    items: Any = _join_optional(a.items, b.items)
    mine, theirs = dict(a.args), dict(b.args)
    args = tuple((k, join(mine[k], theirs[k])) for k in sorted(mine.keys() & theirs.keys(), key=str))
    return dom.Layer(a.name, args, items, a.trace or b.trace)


def _join_function(a: dom.Function, b: dom.Function) -> dom.Value:
    if a.unit is not b.unit:
        return _choose(a, b)
    return dom.Function(a.unit, _join_optional(a.bound, b.bound), a.scope or b.scope, a.trace or b.trace)


def _join_bound(a: Any, b: Any) -> dom.Value:
    if _order(a) != _order(b):
        return _choose(a, b)
    inner = "receiver" if isinstance(a, dom.Method) else "bound"
    joined: dom.Value = replace(a, trace=a.trace or b.trace, **{inner: join(getattr(a, inner), getattr(b, inner))})
    return joined


def _join_partial(a: dom.Partial, b: dom.Partial) -> dom.Value:
    if _order(a) != _order(b):
        return _choose(a, b)
    args = tuple(join(x, y) for x, y in zip(a.args, b.args, strict=True))
    kwargs = tuple((k, join(v, w)) for (k, v), (_, w) in zip(a.kwargs, b.kwargs, strict=True))
    return dom.Partial(join(a.function, b.function), args, kwargs, a.trace or b.trace)


def _join_truth(a: dom.Truth, b: dom.Truth) -> dom.Value:
    differ = (a.exporters ^ b.exporters) | a.undecided | b.undecided
    return dom.Truth(a.exporters - differ, differ, a.trace or b.trace)


def _join_optional(a: dom.Value | None, b: dom.Value | None) -> dom.Value | None:
    return join(a, b) if a is not None and b is not None else a or b


_JOIN: dict[type, Any] = {
    dom.Function: _join_function,
    **dict.fromkeys((dom.Method, dom.Super), _join_bound),
    dom.Partial: _join_partial,
    **dict.fromkeys((dom.Const, dom.Config), lambda a, b: dom.Config(a.trace or b.trace)),
    dom.Dim: _join_dim,
    dom.Tensor: _join_tensor,
    dom.Shape: _join_shape,
    **dict.fromkeys((dom.Data, dom.Array), _join_read),
    **dict.fromkeys((dom.Tuple, dom.Seq), _join_sequences),
    dom.Dict: _join_dict,
    dom.Layer: _join_layer,
    dom.Truth: _join_truth,
}


def widen(v: dom.Value) -> dom.Value:
    """Forget what could grow without end in a loop: the length of a list."""
    return dom.Seq(element(v), None, v.trace) if isinstance(v, dom.Tuple) and v.kind == "list" else v


def widen_argument(v: dom.Value) -> dom.Value:
    """Forget what could grow without end where a function calls itself: a number, the length of a list."""
    number = isinstance(v, dom.Const) and isinstance(v.literal, (int, float)) and not isinstance(v.literal, bool)
    return dom.CONFIG if number else widen(v)


def concatenated(a: dom.Tuple | dom.Seq, b: dom.Tuple | dom.Seq) -> dom.Value:
    """`[a] + [b]`."""
    if isinstance(a, dom.Tuple) and isinstance(b, dom.Tuple):
        items = (*a.items, *b.items)
        return dom.Tuple(items, a.kind) if len(items) <= 64 else dom.Seq(element(dom.Tuple(items)))
    size = next((v.size for v in (a, b) if isinstance(v, dom.Seq) and v.size is not None), None)
    return dom.Seq(join_all(element(v) for v in (a, b) if isinstance(v, dom.Seq) or v.items) or dom.UNKNOWN, size)
