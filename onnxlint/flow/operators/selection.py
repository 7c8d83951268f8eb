"""Transfer functions of operators that select by index or by data."""

from onnxlint.flow.operators.transfer import Call, handles, like
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Const, Extent, Seq, Tensor, Tuple, Value, as_int, is_true, replace


@handles("topk")
def _topk(call: Call) -> Value:
    t, k = call.tensor, shapes.from_value(call.arg(1, "k") or CONFIG)
    at = shapes.normal(call.int_arg(2, "dim", default=-1), len(t.dims or ()))
    dims = (*t.dims[:at], k, *t.dims[at + 1 :]) if t.dims is not None and at is not None else None
    one = like(call, dims, t.lead, t.kind)
    return Tuple((one, replace(one, kind="index")))


@handles("gather take_along_dim")
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
    t = call.tensor
    ragged = call.ragged(t.fixed)
    values = like(call, (ragged,), None, t.kind)
    results: list[Value] = [values]
    for position, name in ((2, "return_inverse"), (3, "return_counts")):
        if is_true(call.arg(position if call.op == "unique" else position - 1, name)):
            results.append(like(call, t.dims if position == 2 else (ragged,), None, "index"))
    return Tuple(tuple(results)) if len(results) > 1 else values


@handles("bincount")
def _bincount(call: Call) -> Value:
    return like(call, (call.ragged(call.tensor.fixed),), None, "index")
