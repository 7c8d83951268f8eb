"""Transfer functions of operators that make tensors, and of those that ask a tensor for its size."""

import math
from collections.abc import Sequence

from onnxlint.flow.operators.transfer import Call, handles, kind_of, like
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Observing
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes


@handles("zeros ones empty rand randn full")
def _creation(call: Call) -> dom.Value:
    call.engine.use_all(call.args, call.op)
    size, kind = call.arg(0, "size"), kind_of(call.kwargs.get("dtype"))
    if call.op != "full":
        return call.made(call.sizes(0, "size"), kind or "float")
    shape = size.tensor.dims if isinstance(size, dom.Shape) else None
    return call.made(size.items if isinstance(size, dom.Tuple) else shape, kind)


@handles("new_zeros new_ones new_empty new_full")
def _new(call: Call) -> dom.Value:
    size = call.arg(1, "size")
    items = size.items if isinstance(size, dom.Tuple) else None
    return call.made(items if call.op == "new_full" else call.sizes(1, "size"), call.tensor.kind)


@handles("zeros_like ones_like full_like empty_like rand_like randn_like randint_like")
def _creation_like(call: Call) -> dom.Value:
    t = call.tensor
    return dom.Tensor(t.dims, t.lead, "made", kind_of(call.kwargs.get("dtype")) or t.kind, None, None, t.trace)


@handles("randint")
def _randint(call: Call) -> dom.Value:
    size = call.kwargs.get("size") or next((v for v in reversed(call.args) if isinstance(v, dom.Tuple)), None)
    return call.made(size.items if isinstance(size, dom.Tuple) else None, "int")


@handles("randperm")
def _randperm(call: Call) -> dom.Value:
    return call.made((call.arg(0, "n") or dom.CONFIG,), "int")


@handles("arange linspace logspace range")
def _arange(call: Call) -> dom.Value:
    call.engine.use_all(call.args, call.op)
    if call.op in ("linspace", "logspace"):
        steps = call.arg(2, "steps") or dom.CONFIG
        return call.made((steps,), "float", trace=steps.trace)
    bounds = [call.arg(i, name) for i, name in enumerate(("start", "end", "step"))]
    if len(call.args) == 1 and bounds[1] is None:
        bounds[:2] = None, bounds[0]
    start, end, step = bounds[0] or dom.Const(0), bounds[1] or dom.CONFIG, bounds[2] or dom.Const(1)
    first, stride = dom.as_int(start), dom.as_int(step)
    kind = "index" if first is not None and first >= 0 and stride is not None and stride > 0 else "int"
    trace = next((v.trace for v in bounds if v is not None and v.trace), None)
    return call.made((_steps(start, end, step),), kind, trace=trace)


def _steps(start: dom.Value, end: dom.Value, step: dom.Value) -> dom.Extent:
    """How many numbers a range has."""
    if dom.as_int(start) == 0 and dom.as_int(step) == 1:
        if isinstance(end, dom.Const) and isinstance(end.literal, float):
            return dom.Const(math.ceil(end.literal)) if math.isfinite(end.literal) else dom.CONFIG
        return shapes.from_value(end)
    literals = [n for v in (start, end, step) if (n := dom.size_of(v)) is not None]
    count = max(0, -((literals[0] - literals[1]) // literals[2])) if len(literals) == 3 and literals[2] else None
    size = shapes.combine(shapes.from_value(start), shapes.from_value(end), count)
    return shapes.combine(size, step, count) if isinstance(step, (dom.Dim, dom.Data)) else size


@handles("eye")
def _eye(call: Call) -> dom.Value:
    rows = call.arg(0, "n") or dom.CONFIG
    return call.made((rows, call.arg(1, "m") or rows), "float")


@handles(*NAMES["from-python"])
def _tensor(call: Call) -> dom.Value:
    if call.op.endswith("Tensor") and (made := _by_sizes(call, call.args, None)) is not None:
        return made
    value = (call.args[1] if call.op == "new_tensor" and len(call.args) > 1 else call.arg(0, "data")) or dom.UNKNOWN
    _use(call.engine, call, value)
    kind = kind_of(call.kwargs.get("dtype"))
    if isinstance(value, dom.Tensor):  # of one alone both exporters follow
        if call.op in ("as_tensor", "asarray"):
            return value
        return dom.Tensor(value.dims, value.lead, value.source, kind or value.kind, None, None, value.trace)
    size = _size_in(value)
    trace = getattr(value, "trace", None) or (size.trace if size is not None else None)
    return call.made(_dims_of(value), kind or _kind_of(value), "made" if size is None else "sizes", trace)


def _kind_of(value: dom.Value) -> str | None:
    """What torch makes of numbers without a dtype: the widest kind that is among them."""
    kinds = {type(v.literal) if isinstance(v, dom.Const) else None for v in _leaves(value, counted=False)}
    widest = next((kind.__name__ for kind in (float, int, bool) if kind in kinds), None)
    return widest if kinds <= {bool, int, float} else None


@handles("new")
def _new_legacy(call: Call) -> dom.Value:
    return _by_sizes(call, call.args[1:], call.tensor.kind) or like(call, None)


def _by_sizes(call: Call, sizes: Sequence[dom.Value], kind: str | None) -> dom.Tensor | None:
    """What a legacy constructor makes by dynamic sizes, which no trace follows: `torch.FloatTensor(n, 8)`."""
    extents = _extents(call.engine, sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], dom.Shape) else sizes
    dim = _size_in(dom.Tuple(tuple(extents)))
    if dim is None or not all(isinstance(v, (dom.Dim, dom.Const, dom.Config)) for v in extents):
        return None
    source = "axis" if extents is sizes and len(sizes) == 1 else "axes"
    unit, sure = call.engine.frames[-1].unit, dim.sure
    if unit is None or not unit.of_autograd:  # where it is what a kernel fills
        call.engine.emit(observations.TensorFromPython, call.node, dim.trace, call=call.name, source=source, sure=sure)
    return call.made(sizes if extents is sizes else None, kind)


def _extents(engine: Observing, shape: dom.Shape) -> list[dom.Value]:
    """The sizes in a shape: the batch at the least."""
    t = shape.tensor
    return list(t.dims) if t.dims is not None else [shapes.extent_of(t, 0, engine.context.axes)]


def _use(engine: Observing, call: Call, value: dom.Value) -> None:
    """What a tensor constructor freezes: dims and data in its argument."""
    for v in _extents(engine, value) if isinstance(value, dom.Shape) else _leaves(value):
        site = v.site if isinstance(v, dom.Dim) else None
        listed = site is not None and site.how.startswith(("range()", "list repetition", "numpy."))
        if isinstance(v, dom.Dim) and (site is None or listed):
            source = "length" if listed else "size" if v is value else "sizes"
            engine.emit(observations.TensorFromPython, call.node, v.trace, call=call.name, source=source, sure=v.sure)
        elif isinstance(v, dom.Tensor) and v is not value and v.source == "input":
            engine.emit(observations.TensorFromPython, call.node, v.trace, call=call.name, source="tensor")
        elif isinstance(v, (dom.Dim, dom.Data, dom.Array)):
            engine.use(v, call.op)


def _size_in(value: dom.Value) -> dom.Dim | None:
    """A size that an input decides and that `given` holds, if there is one; the length of a list is none."""
    if isinstance(value, dom.Shape):
        value = dom.Tuple(value.tensor.dims or ())
    if isinstance(value, dom.Tuple):
        return next((size for v in value.items if (size := _size_in(v)) is not None), None)
    if isinstance(value, dom.Seq):
        return _size_in(value.item)
    return value if isinstance(value, dom.Dim) and value.site is None else None


def _dims_of(value: dom.Value) -> shapes.Dims | None:
    if isinstance(value, dom.Tuple):
        inner = _dims_of(value.items[0]) if value.items else ()
        return (dom.Const(len(value.items)), *inner) if inner is not None else None
    if isinstance(value, dom.Seq):
        inner = _dims_of(value.item)
        return (shapes.from_value(value.size or dom.CONFIG), *inner) if inner is not None else None
    return () if isinstance(value, (dom.Const, dom.Dim, dom.Data)) else None


def _leaves(v: dom.Value, counted: bool = True) -> list[dom.Value]:
    """What a list holds, and what its length depends on if that is `counted`."""
    if isinstance(v, dom.Tuple):
        return [leaf for i in v.items for leaf in _leaves(i, counted)]
    if isinstance(v, dom.Seq):
        return [*([v.size] if v.size is not None and counted else []), *_leaves(v.item, counted)]
    return [v]


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
    matrices = [dims for dims in shapes_ if len(dims) == 2] or [(dom.CONFIG, dom.CONFIG)]
    return like(call, tuple(map(shapes.total, zip(*matrices, strict=True))), None, tensors[0].kind)


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
        return call.ragged(t.ragged.fixed)
    return dom.Dim(t.axes, plain=False, trace=t.trace) if t.axes else dom.CONFIG


@handles("multinomial normal poisson")
def _draw(call: Call) -> dom.Value:
    sizes = call.sizes(3, "size") if call.op == "normal" and ("size" in call.kwargs or len(call.args) > 2) else None
    if sizes is not None:
        return call.made(sizes, "float")
    t = call.tensor
    return like(call, t.dims if call.op != "multinomial" else None, t.lead)
