"""Tensors made of Python values, `torch.tensor(...)` and its like: what such a call freezes, and the shape it gives."""

from __future__ import annotations

from onnxlint.flow.operators.transfer import Call, kind_of
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Observing
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Array, Config, Const, Data, Dim, Seq, Shape, Tensor, Tuple, Value


def tensor(engine: Observing, call: Call, given: Value) -> Value:
    """`torch.tensor(given)` and its like."""
    kind = kind_of(call.kwargs.get("dtype"))
    _use(engine, call, given)
    if isinstance(given, Tensor):
        if call.op in ("tensor", "new_tensor") and given.source == "input":
            engine.emit(observations.TensorFromPython, call.node, given.trace, call=call.name, source="tensor")
        keep = call.op in ("as_tensor", "asarray")
        return given if keep else Tensor(given.dims, given.lead, "made", kind or given.kind, None, None, given.trace)
    size = _size_in(given)
    made = call.made(_dims_of(given), kind or _kind_of(given), "made" if size is None else "sizes")
    made.trace = getattr(given, "trace", None) or (size.trace if size is not None else None)
    return made


def _kind_of(given: Value) -> str | None:
    """What torch makes of numbers without a dtype: the widest kind that is among them."""
    kinds = {type(v.literal) if isinstance(v, Const) else None for v in _leaves(given, counted=False)}
    if kinds <= {bool, int, float} and kinds:
        return "float" if float in kinds else "int" if int in kinds else "bool"
    return None


def _use(engine: Observing, call: Call, given: Value) -> None:
    """What a tensor constructor freezes: dims and data in its argument."""
    items = _leaves(given)
    if isinstance(given, Shape):  # the whole of it: the batch is in it at the least
        t = given.tensor
        items = list(t.dims) if t.dims is not None else [shapes.extent_of(t, 0, engine.context.axes)]
    for v in items:
        if isinstance(v, Dim):
            listed = v.site is not None and v.site.how.startswith(("range()", "list repetition", "numpy."))
            if v.site is not None and not listed:
                engine.use(v, call.op)
            else:
                source = "length" if listed else "size" if v is given else "sizes"
                engine.emit(
                    observations.TensorFromPython, call.node, v.trace, call=call.name, source=source, sure=v.sure
                )
        elif isinstance(v, Tensor) and v is not given and v.source == "input":
            engine.emit(observations.TensorFromPython, call.node, v.trace, call=call.name, source="tensor")
        elif isinstance(v, (Data, Array)):
            engine.use(v, call.op)


def _size_in(given: Value) -> Dim | None:
    """A size that an input decides and that `given` holds, if there is one; the length of a list is none."""
    if isinstance(given, Shape):
        given = Tuple(given.tensor.dims or ())
    if isinstance(given, Tuple):
        return next((size for v in given.items if (size := _size_in(v)) is not None), None)
    if isinstance(given, Seq):
        return _size_in(given.item)
    return given if isinstance(given, Dim) and given.site is None else None


def _dims_of(given: Value) -> shapes.Dims | None:
    if isinstance(given, (Const, Config, Dim, Data)):
        return () if not isinstance(given, Config) else None
    if isinstance(given, Tuple):
        inner = _dims_of(given.items[0]) if given.items else ()
        return (Const(len(given.items)), *inner) if inner is not None else None
    if isinstance(given, Seq):
        inner = _dims_of(given.item)
        size = shapes.from_value(given.size or CONFIG)
        return (size, *inner) if inner is not None else None
    return None


def _leaves(v: Value, counted: bool = True) -> list[Value]:
    """What a list holds, and what its length depends on if that is `counted`."""
    if isinstance(v, Tuple):
        return [leaf for i in v.items for leaf in _leaves(i, counted)]
    if isinstance(v, Seq):
        return [*([v.size] if v.size is not None and counted else []), *_leaves(v.item, counted)]
    return [v]
