"""Tensors made of Python values, `torch.tensor(...)` and its like: what such a call freezes, and the shape it gives."""

from onnxlint.flow.operators.transfer import Call, kind_of
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Observing
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Array, Config, Const, Data, Dim, Seq, Shape, Tensor, Tuple, Value


def tensor(engine: Observing, call: Call, value: Value) -> Value:
    """`torch.tensor(given)` and its like."""
    kind = kind_of(call.kwargs.get("dtype"))
    _use(engine, call, value)
    if isinstance(value, Tensor):
        if call.op in ("tensor", "new_tensor") and value.source == "input":
            engine.emit(observations.TensorFromPython, call.node, value.trace, call=call.name, source="tensor")
        keep = call.op in ("as_tensor", "asarray")
        return value if keep else Tensor(value.dims, value.lead, "made", kind or value.kind, None, None, value.trace)
    size = _size_in(value)
    made = call.made(_dims_of(value), kind or _kind_of(value), "made" if size is None else "sizes")
    made.trace = getattr(value, "trace", None) or (size.trace if size is not None else None)
    return made


def _kind_of(value: Value) -> str | None:
    """What torch makes of numbers without a dtype: the widest kind that is among them."""
    kinds = {type(v.literal) if isinstance(v, Const) else None for v in _leaves(value, counted=False)}
    if kinds <= {bool, int, float} and kinds:
        return "float" if float in kinds else "int" if int in kinds else "bool"
    return None


def _use(engine: Observing, call: Call, value: Value) -> None:
    """What a tensor constructor freezes: dims and data in its argument."""
    items = _leaves(value)
    if isinstance(value, Shape):  # the whole of it: the batch is in it at the least
        t = value.tensor
        items = list(t.dims) if t.dims is not None else [shapes.extent_of(t, 0, engine.context.axes)]
    for v in items:
        if isinstance(v, Dim):
            listed = v.site is not None and v.site.how.startswith(("range()", "list repetition", "numpy."))
            if v.site is not None and not listed:
                engine.use(v, call.op)
            else:
                source = "length" if listed else "size" if v is value else "sizes"
                engine.emit(
                    observations.TensorFromPython, call.node, v.trace, call=call.name, source=source, sure=v.sure
                )
        elif isinstance(v, Tensor) and v is not value and v.source == "input":
            engine.emit(observations.TensorFromPython, call.node, v.trace, call=call.name, source="tensor")
        elif isinstance(v, (Data, Array)):
            engine.use(v, call.op)


def _size_in(value: Value) -> Dim | None:
    """A size that an input decides and that `given` holds, if there is one; the length of a list is none."""
    if isinstance(value, Shape):
        value = Tuple(value.tensor.dims or ())
    if isinstance(value, Tuple):
        return next((size for v in value.items if (size := _size_in(v)) is not None), None)
    if isinstance(value, Seq):
        return _size_in(value.item)
    return value if isinstance(value, Dim) and value.site is None else None


def _dims_of(value: Value) -> shapes.Dims | None:
    if isinstance(value, (Const, Config, Dim, Data)):
        return () if not isinstance(value, Config) else None
    if isinstance(value, Tuple):
        inner = _dims_of(value.items[0]) if value.items else ()
        return (Const(len(value.items)), *inner) if inner is not None else None
    if isinstance(value, Seq):
        inner = _dims_of(value.item)
        size = shapes.from_value(value.size or CONFIG)
        return (size, *inner) if inner is not None else None
    return None


def _leaves(v: Value, counted: bool = True) -> list[Value]:
    """What a list holds, and what its length depends on if that is `counted`."""
    if isinstance(v, Tuple):
        return [leaf for i in v.items for leaf in _leaves(i, counted)]
    if isinstance(v, Seq):
        return [*([v.size] if v.size is not None and counted else []), *_leaves(v.item, counted)]
    return [v]
