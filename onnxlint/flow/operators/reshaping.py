"""Transfer functions of operators that view, move, join and split axes."""

from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.operators.transfer import Call, handles, kind_of, like
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace


@handles("view reshape")
def _view(call: Call) -> dom.Value:
    sizes, t = call.sizes(1, "shape", "size"), call.tensor
    if sizes is not None and len(sizes) == 1 and kind_of(sizes[0]) is not None:
        return like(call, t.dims, t.lead, kind_of(sizes[0]))  # view(dtype)
    if sizes is not None:
        call.engine.check_literal_sizes(call.op, call.node, t, sizes)
    spread = sizes is not None and any(isinstance(v, dom.Seq) for v in sizes)  # `view(n, *x.shape[2:])`
    dims = shapes.reshape(t, sizes) if sizes is not None and not spread else None
    lead = shapes.from_value(sizes[0]) if sizes is not None and spread and not isinstance(sizes[0], dom.Seq) else None
    return replace(like(call, dims, lead, t.kind), view=t.view or "view", made_at=t.made_at)


@handles("view_as reshape_as expand_as")
def _as(call: Call) -> dom.Value:
    other = call.arg(1, "other")
    dims = other.dims if isinstance(other, dom.Tensor) else None
    return like(call, dims, dom.first_dim(other) if isinstance(other, dom.Tensor) else None, call.tensor.kind)


@handles("expand broadcast_to")
def _expand(call: Call) -> dom.Value:
    t, sizes = call.tensor, call.sizes(1, "size", "shape")
    if sizes is None:
        return like(call, None, None, t.kind)
    call.engine.check_literal_batch(call.op, call.node, t, sizes)
    axes, offset = call.engine.context.axes, len(sizes) - len(t.dims) if t.dims is not None else 0
    extents = (shapes.extent_of(t, i, axes) for i in range(-offset, len(sizes) - offset))
    dims = tuple(d if dom.as_int(s) == -1 else shapes.from_value(s) for s, d in zip(sizes, extents, strict=True))
    return like(call, dims, None, t.kind)


@handles("repeat tile")
def _repeat(call: Call) -> dom.Value:
    t, times = call.tensor, call.sizes(1, "repeats", "dims")
    if times is None:
        return like(call, None, None, t.kind)
    call.engine.check_literal_batch(call.op, call.node, t, times)
    if t.dims is not None and call.op == "tile":
        times = [*(dom.Const(1) for _ in range(len(t.dims) - len(times))), *times]
    if t.dims is None or len(times) < len(t.dims):
        lead = shapes.combine(t.lead, shapes.from_value(times[0])) if t.lead is not None and times else None
        return like(call, None, lead, t.kind)
    before = (*(dom.Const(1),) * (len(times) - len(t.dims)), *t.dims)
    dims = tuple(shapes.fold((shapes.from_value(n), d)) for n, d in zip(times, before, strict=True))
    return like(call, dims, None, t.kind)


@handles("repeat_interleave")
def _repeat_interleave(call: Call) -> dom.Value:
    t, times, axis = call.tensor, call.arg(1, "repeats"), call.arg(2, "dim")
    number = dom.as_int(axis)
    base = (shapes.fold(t.dims),) if t.dims is not None and number is None else t.dims
    at = shapes.normal(number or 0, len(base or ()))
    if base is None or at is None or (axis is not None and not dom.is_none(axis) and number is None):
        return like(call, None, None, t.kind)
    size = shapes.fold((base[at], shapes.from_value(times or dom.CONFIG)))
    if isinstance(times, dom.Tensor):
        data = dom.Data(call.engine.site(call.node, ""), times.fixed, True, times.trace)
        size = shapes.from_value(call.kwargs.get("output_size", data))
    return like(call, (*base[:at], size, *base[at + 1 :]), None, t.kind)


@handles("flatten")
def _flatten(call: Call) -> dom.Value:
    t, start, end = call.tensor, call.int_arg(1, "start_dim", default=0), call.int_arg(2, "end_dim", default=-1)
    first, last = (shapes.normal(axis, len(t.dims or ())) for axis in (start, end))
    if t.dims is None or first is None or last is None:
        return like(call, None, t.lead if start and t.dims is None else None, t.kind)
    return like(call, (*t.dims[:first], shapes.fold(t.dims[first : last + 1]), *t.dims[last + 1 :]), None, t.kind)


@handles("unflatten")
def _unflatten(call: Call) -> dom.Value:
    t, axis = call.tensor, call.int_arg(1, "dim")
    dims = shapes.unflatten(t, axis, call.sizes(2, "sizes", "unflattened_size"))
    return unflattened_sizes.lost(call.engine, like(call, dims, t.lead if axis else None, t.kind), t, call.node)


@handles("transpose swapaxes swapdims")
def _transpose(call: Call) -> dom.Value:
    t, a, b = call.tensor, call.int_arg(1, "dim0", "axis0"), call.int_arg(2, "dim1", "axis1")
    dims = list(t.dims) if t.dims is not None and a is not None and b is not None else None
    x, y = (shapes.normal(axis, len(dims or ())) for axis in (a, b))
    if dims is not None and x is not None and y is not None:
        dims[x], dims[y] = dims[y], dims[x]
    result = like(call, tuple(dims) if dims is not None else None, t.lead if a and b else None, t.kind)
    return replace(result, view=t.view or "transpose")


@handles("t ravel")
def _whole(call: Call) -> dom.Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, None, t.kind)
    return like(call, t.dims[::-1] if call.op == "t" else (shapes.fold(t.dims),), None, t.kind)


@handles("permute")
def _permute(call: Call) -> dom.Value:
    t = call.tensor
    numbers = shapes.ints(dom.Tuple(tuple(call.sizes(1, "dims") or ()))) or ()
    base = t.dims
    if base is None:
        base = tuple(shapes.extent_of(t, i, call.engine.context.axes) for i in range(len(numbers)))
        if not t.parameter:  # it may have axes that the input has not: one that was unsqueezed, or sampled
            base = tuple(replace(d, plain=False) if isinstance(d, dom.Dim) and i else d for i, d in enumerate(base))
    if not numbers or any(shapes.normal(n, len(base)) is None for n in numbers):
        return like(call, None, None, t.kind)
    return replace(like(call, tuple(base[n] for n in numbers), None, t.kind), view=t.view or "permute")


@handles("movedim moveaxis")
def _movedim(call: Call) -> dom.Value:
    t, sources, goals = call.tensor, shapes.ints(call.arg(1, "source")), shapes.ints(call.arg(2, "destination"))
    if t.dims is None or sources is None or goals is None or len(sources) != len(goals):
        return like(call, None, None, t.kind)
    rank = len(t.dims)
    moved = {shapes.normal(g, rank): shapes.normal(s, rank) for s, g in zip(sources, goals, strict=True)}
    if None in moved or None in moved.values():
        return like(call, None, None, t.kind)
    rest = iter(i for i in range(rank) if i not in moved.values())
    order = [moved.get(i) if i in moved else next(rest) for i in range(rank)]
    dims = tuple(t.dims[i] for i in order if i is not None)
    return replace(like(call, dims, None, t.kind), view=t.view or "permute")


@handles("diagonal diag_embed diag")
def _diagonal(call: Call) -> dom.Value:
    t = call.tensor
    first = -2 if call.op == "diag_embed" else 0
    one, two = (call.int_arg(2 + i, f"dim{1 + i}", default=first + i) for i in range(2))
    whole = call.int_arg(1, "offset", "diagonal", default=0) == 0
    if t.dims is None or one is None or two is None or not t.dims:
        return like(call, None, None, t.kind)
    if call.op == "diag_embed" or (call.op == "diag" and len(t.dims) == 1):
        last = t.dims[-1] if whole else shapes.combine(t.dims[-1], dom.CONFIG)
        at_end = (one, two) == (-2, -1) or call.op == "diag"
        return like(call, (*t.dims[:-1], last, last) if at_end else None, None, t.kind)
    a, b = shapes.normal(one, len(t.dims)), shapes.normal(two, len(t.dims))
    if a is None or b is None or a == b:
        return like(call, None, None, t.kind)
    x, y = dom.as_int(t.dims[a]), dom.as_int(t.dims[b])
    size = shapes.combine(t.dims[a], t.dims[b], min(x, y) if x is not None and y is not None and whole else None)
    return like(call, (*(d for i, d in enumerate(t.dims) if i not in (a, b)), size), None, t.kind)


@handles("unsqueeze")
def _unsqueeze(call: Call) -> dom.Value:
    t, axis = call.tensor, call.int_arg(1, "dim")
    if t.dims is None or axis is None or not -len(t.dims) - 1 <= axis <= len(t.dims):
        result = like(call, None, dom.Const(1) if axis == 0 else (t.lead if axis is not None else None), t.kind)
    else:
        at = axis % (len(t.dims) + 1)
        result = like(call, (*t.dims[:at], dom.Const(1), *t.dims[at:]), None, t.kind)
    return replace(result, view=t.view or "unsqueeze")


@handles("squeeze")
def _squeeze(call: Call) -> dom.Value:
    t, dim = call.tensor, call.arg(1, "dim")
    axes = shapes.ints(dim) if dim is not None else None
    if t.dims is None or (axes is None and dim is not None):
        result = like(call, None, t.lead if axes and 0 not in axes else None, t.kind)
    elif axes is None:
        result = like(call, tuple(d for d in t.dims if dom.as_int(d) != 1), None, t.kind)
    else:
        gone = {shapes.normal(a, len(t.dims)) for a in axes}
        # A size that is not 1 stays.
        dims = tuple(d for i, d in enumerate(t.dims) if i not in gone or dom.size_of(d) not in (None, 1))
        result = like(call, dims, None, t.kind)
    return replace(result, view=t.view or "squeeze")


@handles("cat concat concatenate hstack vstack dstack")
def _cat(call: Call) -> dom.Value:
    tensors = call.tensors()
    axis = call.int_arg(1, "dim", "axis", default={"hstack": 1, "dstack": 2}.get(call.op, 0))
    first = call.args[0] if call.args else None
    if not tensors or axis is None or any(t.dims is None or len(t.dims) != len(tensors[0].dims or ()) for t in tensors):
        lead = next((t.lead or (t.dims[0] if t.dims else None) for t in tensors if t.source == "input"), None)
        if axis == 0:
            whole = isinstance(first, dom.Tuple) and len(tensors) == len(first.items)
            lead = shapes.total([shapes.extent_of(t, 0, call.engine.context.axes) for t in tensors]) if whole else None
        return like(call, None, lead if axis is not None else None, tensors[0].kind if tensors else None)
    at = shapes.normal(axis, len(tensors[0].dims or ()))
    if at is None:
        return like(call, None)
    call.engine.check_same_batch(tensors, at)
    columns = [*zip(*(t.dims or () for t in tensors), strict=True)]
    dims = [next((d for d in column if isinstance(d, (dom.Dim, dom.Data))), column[0]) for column in columns]
    dims[at] = shapes.total(columns[at])
    if isinstance(first, dom.Seq):
        dims[at] = shapes.combine(dims[at], shapes.from_value(first.size or dom.CONFIG))
    return like(call, tuple(dims), None, tensors[0].kind)


@handles("stack")
def _stack(call: Call) -> dom.Value:
    tensors, axis = call.tensors(), call.int_arg(1, "dim", default=0)
    first = call.args[0] if call.args else None
    size = first.size if isinstance(first, dom.Seq) else None
    count = dom.Const(len(first.items)) if isinstance(first, dom.Tuple) else shapes.from_value(size or dom.CONFIG)
    if not tensors or tensors[0].dims is None or axis is None:
        lead = tensors[0].lead if tensors else None
        if axis == 0:  # a list that grew in a loop may have one for each row
            pieces = tensors and tensors[0].view in call.engine.table.curated["split"]
            lead = count if pieces or size is not None or count != dom.CONFIG else None
        return like(call, None, lead)
    at = axis % (len(tensors[0].dims) + 1)
    return like(call, (*tensors[0].dims[:at], count, *tensors[0].dims[at:]), None, tensors[0].kind)


@handles("chunk split tensor_split split_with_sizes unsafe_chunk unsafe_split")
def _split(call: Call) -> dom.Value:
    t = call.tensor
    how = call.arg(1, "chunks", "split_size", "split_size_or_sections", "split_sizes", "indices_or_sections")
    axis = call.int_arg(2, "dim", default=0)
    at = shapes.normal(axis, len(t.dims)) if t.dims is not None and axis is not None else None
    whole: dom.Extent = t.dims[at] if t.dims is not None and at is not None else dom.CONFIG

    def piece(extent: dom.Extent) -> dom.Tensor:
        dims = (*t.dims[:at], extent, *t.dims[at + 1 :]) if t.dims is not None and at is not None else None
        lead = t.lead if dims is None and axis != 0 else None
        return dom.Tensor(dims, lead, t.source, t.kind, call.op, None, t.trace)

    sizes = _pieces(call.op.removeprefix("unsafe_"), whole, how)
    if sizes is not None and 0 < len(sizes) <= shapes.PIECES:
        return dom.Tuple(tuple(piece(size) for size in sizes))
    some = shapes.resized(whole, lambda n: None) if not isinstance(whole, dom.Const) else dom.CONFIG
    return dom.Seq(piece(some), whole if isinstance(whole, dom.Dim) else None)


def _pieces(op: str, whole: dom.Extent, how: dom.Value | None) -> list[dom.Extent] | None:
    """Sizes of the parts that an axis is split into; None where their number is not known."""
    if isinstance(how, dom.Tuple):
        if op == "tensor_split":
            return [shapes.resized(whole, lambda n: None)] * (len(how.items) + 1)
        return [shapes.from_value(i) for i in how.items]
    count = dom.as_int(how)
    if count is None or count <= 0:
        return None
    if op == "split":
        return shapes.parts(whole, count)
    if count > shapes.PIECES:
        return None
    number = dom.as_int(whole)
    if number is None:
        return [shapes.resized(whole, lambda n: n // count if n % count == 0 else None)] * count
    if op == "chunk":
        return shapes.parts(whole, -(-number // count)) or [whole]
    return [dom.Const(number // count + (1 if i < number % count else 0)) for i in range(count)]


@handles("unbind")
def _unbind(call: Call) -> dom.Value:
    t, axis = call.tensor, call.int_arg(1, "dim", default=0)
    if t.dims is None or axis is None or shapes.normal(axis, len(t.dims)) is None:
        return dom.Seq(dom.Tensor(None, None, t.source, t.kind, "unbind", None, t.trace))
    at = axis % len(t.dims)
    item = dom.Tensor((*t.dims[:at], *t.dims[at + 1 :]), None, t.source, t.kind, "unbind", None, t.trace)
    count = dom.as_int(t.dims[at])
    if count is not None and count <= shapes.PIECES:
        return dom.Tuple((item,) * count)
    return dom.Seq(item, t.dims[at] if isinstance(t.dims[at], dom.Dim) else None)
