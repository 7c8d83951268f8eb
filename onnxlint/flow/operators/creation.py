"""Transfer functions of operators that make tensors, and of those that ask a tensor for its size."""

import math

from onnxlint.flow.operators import tensor_literals
from onnxlint.flow.operators.transfer import Call, handles, kind_of, like
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes


@handles("zeros ones empty rand randn full")
def _creation(call: Call) -> dom.Value:
    if call.op == "full":
        size = call.arg(0, "size")
        sizes = list(size.items) if isinstance(size, dom.Tuple) else None
        if isinstance(size, dom.Shape) and size.tensor.dims is not None:
            sizes = list(size.tensor.dims)
    else:
        sizes = call.sizes(0, "size")
    call.engine.use_all(call.args, call.op)
    dims = tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None
    kind = kind_of(call.kwargs.get("dtype")) or ("float" if call.op != "full" else None)
    return call.made(dims, kind)


@handles("new_zeros new_ones new_empty new_full")
def _new(call: Call) -> dom.Value:
    sizes = call.sizes(1, "size")
    if call.op == "new_full":
        size = call.arg(1, "size")
        sizes = list(size.items) if isinstance(size, dom.Tuple) else None
    return call.made(tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None, call.tensor.kind)


@handles("zeros_like ones_like full_like empty_like rand_like randn_like randint_like")
def _creation_like(call: Call) -> dom.Value:
    t = call.tensor
    return dom.Tensor(t.dims, t.lead, "made", kind_of(call.kwargs.get("dtype")) or t.kind, None, None, t.trace)


@handles("randint")
def _randint(call: Call) -> dom.Value:
    size = call.kwargs.get("size") or next((v for v in reversed(call.args) if isinstance(v, dom.Tuple)), None)
    dims = tuple(shapes.from_value(s) for s in size.items) if isinstance(size, dom.Tuple) else None
    return call.made(dims, "int")


@handles("randperm")
def _randperm(call: Call) -> dom.Value:
    return call.made((shapes.from_value(call.arg(0, "n") or dom.CONFIG),), "int")


@handles("arange linspace logspace range")
def _arange(call: Call) -> dom.Value:
    call.engine.use_all(call.args, call.op)
    if call.op in ("linspace", "logspace"):
        steps = call.arg(2, "steps")
        made = call.made((shapes.from_value(steps or dom.CONFIG),), "float")
        made.trace = steps.trace if steps is not None else None
        return made
    bounds = [*call.args[:3], *(call.kwargs[n] for n in ("start", "end", "step") if n in call.kwargs)]
    start, end, step = _bounds(call)
    first, stride = dom.as_int(start), dom.as_int(step)
    kind = "index" if first is not None and first >= 0 and stride is not None and stride > 0 else "int"
    made = call.made((_steps(start, end, step),), kind)
    made.trace = next((v.trace for v in bounds if v.trace), None)
    return made


def _bounds(call: Call) -> tuple[dom.Value, dom.Value, dom.Value]:
    values = call.args[:3]
    if len(values) == 1 and "end" not in call.kwargs:
        return dom.Const(0), values[0], call.kwargs.get("step", dom.Const(1))
    start = values[0] if values else call.kwargs.get("start", dom.Const(0))
    end = values[1] if len(values) > 1 else call.kwargs.get("end", dom.CONFIG)
    return start, end, values[2] if len(values) > 2 else call.kwargs.get("step", dom.Const(1))


def _steps(start: dom.Value, end: dom.Value, step: dom.Value) -> dom.Extent:
    """How many numbers a range has."""
    if dom.as_int(start) == 0 and dom.as_int(step) == 1:
        if isinstance(end, dom.Const) and isinstance(end.literal, float):
            return dom.Const(math.ceil(end.literal)) if math.isfinite(end.literal) else dom.CONFIG
        return shapes.from_value(end)
    numbers = [dom.size_of(v) for v in (start, end, step)]
    literals = [n for n in numbers if n is not None]
    count = max(0, -((literals[0] - literals[1]) // literals[2])) if len(literals) == 3 and literals[2] else None
    size = shapes.combine(shapes.from_value(start), shapes.from_value(end), count)
    return shapes.combine(size, step, count) if isinstance(step, (dom.Dim, dom.Data)) else size


@handles("eye")
def _eye(call: Call) -> dom.Value:
    a = call.arg(0, "n")
    b = call.arg(1, "m") or a
    return call.made(tuple(shapes.from_value(v or dom.CONFIG) for v in (a, b)), "float")


@handles(
    """
    tensor as_tensor from_numpy asarray scalar_tensor LongTensor FloatTensor IntTensor BoolTensor Tensor new_tensor
    """
)
def _tensor(call: Call) -> dom.Value:
    value = call.args[1] if call.op == "new_tensor" and len(call.args) > 1 else call.arg(0, "data")
    return tensor_literals.tensor(call.engine, call, value if value is not None else dom.UNKNOWN)


@handles("meshgrid")
def _meshgrid(call: Call) -> dom.Value:
    vectors = call.tensors()
    sizes: list[dom.Extent] = [shapes.fold(t.dims) if t.dims is not None else dom.CONFIG for t in vectors]
    order = call.kwargs.get("indexing")
    if isinstance(order, dom.Const) and order.literal == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1], sizes[0]
    one = like(call, tuple(sizes) if sizes else None, None, vectors[0].kind if vectors else None)
    return dom.Tuple((one,) * len(vectors)) if vectors else dom.Seq(one)


@handles("cartesian_prod block_diag")
def _combined(call: Call) -> dom.Value:
    tensors = call.tensors()
    if not tensors or any(t.dims is None for t in tensors):
        return like(call, None)
    shapes_ = [t.dims for t in tensors if t.dims is not None]
    if call.op == "cartesian_prod":
        size = shapes.fold([d for dims in shapes_ for d in dims])
        return like(call, (size, dom.Const(len(tensors))) if len(tensors) > 1 else (size,), None, tensors[0].kind)
    sides: list[dom.Extent] = []
    for axis in (0, 1):
        column = [dims[axis] for dims in shapes_ if len(dims) == 2]
        number = sum(n for n in map(dom.as_int, column) if n is not None)
        total = column[0] if column else dom.CONFIG
        for d in column[1:]:
            total = shapes.combine(total, d, number if all(dom.as_int(c) is not None for c in column) else None)
        sides.append(total)
    return like(call, tuple(sides), None, tensors[0].kind)


@handles("size")
def _size(call: Call) -> dom.Value:
    axis, t, engine = call.arg(1, "dim"), call.tensor, call.engine
    return engine.attribute(t, "shape", call.node) if axis is None else engine.read_dim(t, axis, call.node)


@handles("dim ndimension")
def _dim(call: Call) -> dom.Value:
    return dom.Const(len(call.tensor.dims)) if call.tensor.dims is not None else dom.CONFIG


@handles("numel nelement numel_")
def _numel(call: Call) -> dom.Value:
    t = call.tensor
    if t.ragged is not None:
        return dom.Data(call.engine.site(call.node, ""), t.ragged.fixed, True, t.trace)
    return dom.Dim(t.axes, plain=False, trace=t.trace) if t.axes else dom.CONFIG


@handles("cond")
def _cond(call: Call) -> dom.Value:
    branch = call.arg(1, "true_fn")
    operands = call.arg(3, "operands")
    values = list(operands.items) if isinstance(operands, dom.Tuple) else []
    return call.engine.apply(branch, values, {}, call.node) if branch is not None else dom.UNKNOWN


@handles("multinomial normal poisson")
def _draw(call: Call) -> dom.Value:
    sizes = call.sizes(3, "size") if call.op == "normal" and ("size" in call.kwargs or len(call.args) > 2) else None
    if sizes is not None:
        return call.made(tuple(shapes.from_value(s) for s in sizes), "float")
    t = call.tensor
    return like(call, t.dims if call.op != "multinomial" else None, t.lead)
