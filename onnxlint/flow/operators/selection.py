"""Transfer functions of operators that select by index or by data."""

from onnxlint.flow.operators.transfer import Call, handles, like
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Const, Extent, Seq, Tensor, Tuple, Value, as_int, is_true, replace


def _resized(t: Tensor, axis: int | None, size: Extent) -> shapes.Dims | None:
    """The sizes of a tensor with another one along an axis; None where they, or the axis, are not known."""
    at = shapes.normal(axis, len(t.dims or ()))
    return (*t.dims[:at], size, *t.dims[at + 1 :]) if t.dims is not None and at is not None else None


@handles("topk")
def _topk(call: Call) -> Value:
    t, k = call.tensor, shapes.from_value(call.arg(1, "k") or CONFIG)
    one = like(call, _resized(t, call.int_arg(2, "dim", default=-1), k), t.lead, t.kind)
    return Tuple((one, replace(one, kind="index")))


@handles("gather take_along_dim")
def _gather(call: Call) -> Value:
    index = call.arg(2, "index", "indices") if call.op == "gather" else call.arg(1, "indices")
    return like(call, index.dims if isinstance(index, Tensor) else None, call.tensor.lead, call.tensor.kind)


@handles("index_select")
def _index_select(call: Call) -> Value:
    t, axis, index = call.tensor, call.int_arg(1, "dim"), call.arg(2, "index")
    dims = _resized(t, axis, index.dims[0]) if isinstance(index, Tensor) and index.dims else None
    return like(call, dims, None, t.kind)


@handles("one_hot")
def _one_hot(call: Call) -> Value:
    t, classes = call.tensor, call.arg(1, "num_classes")
    size = shapes.from_value(classes) if classes is not None and as_int(classes) != -1 else CONFIG
    return like(call, (*t.dims, size) if t.dims is not None else None, t.lead, "index")


@handles("nonzero argwhere")
def _nonzero(call: Call) -> Value:
    t = call.tensor
    ragged = call.ragged(t.fixed)
    rank: Extent = Const(len(t.dims)) if t.dims is not None else CONFIG
    if is_true(call.arg(1, "as_tuple")):
        one = like(call, (ragged,), None, "index")
        return Tuple((one,) * len(t.dims)) if t.dims is not None else Seq(one)
    return like(call, (ragged, rank), None, "index")


@handles("where1")
def _where_one(call: Call) -> Value:
    return _nonzero(replace(call, kwargs={"as_tuple": Const(True)}))


@handles("masked_select")
def _masked_select(call: Call) -> Value:
    return like(call, (call.ragged(all(t.fixed for t in call.tensors())),), None, call.tensor.kind)


@handles("unique unique_consecutive")
def _unique(call: Call) -> Value:
    t, first = call.tensor, 2 if call.op == "unique" else 1
    ragged, axis = call.ragged(t.fixed), call.int_arg(first + 2, "dim")
    sizes, lead = (ragged,) if axis is None else _resized(t, axis, ragged), t.lead if axis else ragged
    results: list[Value] = [like(call, sizes, lead, t.kind)]
    inverse = t.dims if axis is None else (shapes.extent_of(t, axis, call.engine.context.axes),)
    for position, name, dims in ((first, "return_inverse", inverse), (first + 1, "return_counts", (ragged,))):
        if is_true(call.arg(position, name)):
            results.append(like(call, dims, None, "index"))
    return Tuple(tuple(results)) if len(results) > 1 else results[0]


@handles("bincount")
def _bincount(call: Call) -> Value:
    return like(call, (call.ragged(call.tensor.fixed),), None, "index")
