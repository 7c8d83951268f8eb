"""Transfer functions of operators on spatial axes: convolution, pooling, resizing, padding, folding."""

from functools import partial

from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.operators.transfer import Call, handles, like
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Const, Extent, Shape, Tensor, Tuple, Value, as_int, is_none


@handles("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d")
def _convolution(call: Call) -> Value:
    t, rank = call.tensor, int(call.op[-2])
    weight = call.arg(1, "weight")
    if t.dims is None or len(t.dims) < rank + 1:
        return like(call, None, t.lead)
    kernel: list[int | None] = [None] * rank
    channels: Extent = CONFIG
    transposed = "transpose" in call.op
    if isinstance(weight, Tensor) and weight.dims is not None and len(weight.dims) == rank + 2:
        kernel = [as_int(d) for d in weight.dims[2:]]
        channels = weight.dims[0]
        if transposed:
            groups = call.arg(6, "groups")
            channels = shapes.fold((weight.dims[1], shapes.from_value(groups) if groups is not None else Const(1)))
    dilation = call.arg(7 if transposed else 5, "dilation")
    rows = shapes.windows(rank, kernel, call.arg(3, "stride"), call.arg(4, "padding"), dilation)
    spatial = shapes.slid(t.dims[-rank:], rows)
    if transposed:
        axes = zip(t.dims[-rank:], rows, shapes.each(call.arg(5, "output_padding"), rank, 0), strict=True)
        spatial = tuple(shapes.resized(d, partial(w.transposed, more=more)) for d, w, more in axes)
    return like(call, (*t.dims[: -rank - 1], channels, *spatial), None, "float")


@handles("max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d")
def _pooling(call: Call) -> Value:
    t, rank = call.tensor, int(call.op[-2])
    if t.dims is None or len(t.dims) < rank + 1:
        return like(call, None, t.lead)
    first = 2 if call.op.startswith("lp") else 1
    kernel, stride = call.arg(first, "kernel_size"), call.arg(first + 1, "stride")
    most = call.op.startswith("max")
    dilation, ceil = call.arg(4, "dilation") if most else None, call.arg(5 if most else first + 3, "ceil_mode")
    padding = call.arg(first + 2, "padding") if first == 1 else None
    stride = stride if stride is not None and not is_none(stride) and stride != Tuple(()) else kernel
    spatial = shapes.slid(t.dims[-rank:], shapes.windows(rank, kernel, stride, padding, dilation, ceil))
    result = like(call, (*t.dims[:-rank], *spatial), None, t.kind)
    return Tuple((result, result)) if most and dom.is_true(call.arg(6, "return_indices")) else result


@handles(*NAMES["resizes"])
def _resize(call: Call) -> Value:
    t = call.tensor
    rank = int(call.op[-2]) if "pool" in call.op else len(t.dims or ()) - 2
    if t.dims is None or rank < 1 or len(t.dims) < rank + 1:
        return like(call, None, t.lead)
    if call.op == "grid_sample":
        grid = call.arg(1, "grid")
        axes = grid.dims if isinstance(grid, Tensor) and grid.dims is not None else ()
        spatial = axes[1:-1] if len(axes) == rank + 2 else (CONFIG,) * rank
    else:
        scale = call.arg(2, "scale_factor") if "pool" not in call.op else None
        spatial = _resized(t.dims[-rank:], call.arg(1, "size", "output_size"), scale)
    return like(call, (*t.dims[:-rank], *spatial), None, t.kind)


def _resized(before: shapes.Dims, size: Value | None, scale: Value | None) -> shapes.Dims:
    """Spatial sizes after a resize to a size, or by a factor."""
    rank = len(before)
    if isinstance(size, Shape):
        dims = size.tensor.dims
        return dims if dims is not None and len(dims) == rank else before
    if isinstance(size, Tuple) and len(size.items) == rank:
        return tuple(d if is_none(v) else shapes.from_value(v) for v, d in zip(size.items, before, strict=True))
    if size is not None and not is_none(size) and not isinstance(size, (Tuple, dom.Seq)):
        return (shapes.from_value(size),) * rank
    factors = scale.items if isinstance(scale, Tuple) and len(scale.items) == rank else (scale,) * rank

    def scaled(size: Extent, factor: Value | None) -> Extent:
        number = factor.literal if isinstance(factor, Const) else None
        if number == 1:
            return size
        return shapes.resized(size, lambda n: int(n * number) if isinstance(number, (int, float)) else None)

    return tuple(scaled(d, f) for d, f in zip(before, factors, strict=True))


@handles("pixel_shuffle pixel_unshuffle")
def _shuffle(call: Call) -> Value:
    factor = call.int_arg(1, "upscale_factor", "downscale_factor")
    dims, up = call.tensor.dims, call.op == "pixel_shuffle"
    if dims is None or len(dims) < 3:
        return like(call, None, call.tensor.lead, call.tensor.kind)

    def scaled(d: Extent, grows: bool, power: int) -> Extent:
        if grows:
            return shapes.resized(d, lambda n: n * factor**power if factor is not None else None)
        return shapes.resized(d, lambda n: n // factor**power if factor else None)

    after = (*dims[:-3], scaled(dims[-3], not up, 2), *(scaled(d, up, 1) for d in dims[-2:]))
    return like(call, after, None, call.tensor.kind)


@handles("pad")
def _pad(call: Call) -> Value:
    t = call.tensor
    return unflattened_sizes.padded(like(call, pad(t.dims, call.arg(1, "pad")), t.lead, t.kind), call.arg(2, "mode"))


def pad(dims: shapes.Dims | None, amounts: Value | None) -> shapes.Dims | None:
    """Dims after `F.pad`: two amounts for each axis, the last axis first."""
    if dims is None:
        return None
    if not isinstance(amounts, Tuple) or len(amounts.items) % 2 or len(amounts.items) > 2 * len(dims):
        return tuple(shapes.combine(d, CONFIG) for d in dims)
    result = list(dims)
    for axis in range(len(amounts.items) // 2):
        for amount in amounts.items[2 * axis : 2 * axis + 2]:
            result[-1 - axis] = _sum(result[-1 - axis], shapes.from_value(amount))
    return tuple(result)


def _sum(a: Extent, b: Extent) -> Extent:
    if as_int(b) == 0:
        return a
    x, y = dom.size_of(a), dom.size_of(b)
    return shapes.combine(a, b, x + y if x is not None and y is not None else None)


@handles("unfold")
def _unfold(call: Call) -> Value:
    t = call.tensor
    if call.method:
        axis, kernel, step = call.int_arg(1, "dimension"), call.int_arg(2, "size"), call.int_arg(3, "step")
        if t.dims is None or axis is None or shapes.normal(axis, len(t.dims)) is None:
            return like(call, None, None, t.kind)
        at = axis % len(t.dims)
        count = shapes.slide(t.dims[at], shapes.Window(kernel, step))
        size: Extent = Const(kernel) if kernel is not None else CONFIG
        return like(call, (*t.dims[:at], count, *t.dims[at + 1 :], size), None, t.kind)
    if t.dims is None or len(t.dims) != 4:
        return like(call, None, t.lead, t.kind)
    names = ("kernel_size", "dilation", "padding", "stride")
    kernels, dilation, padding, stride = (call.arg(i, name) for i, name in enumerate(names, 1))
    rows = shapes.windows(2, kernels, stride, padding, dilation)
    area = [Const(w.kernel) if w.kernel is not None else CONFIG for w in rows]
    channels, slid = shapes.fold((t.dims[1], *area)), shapes.fold(shapes.slid(t.dims[2:], rows))
    return like(call, (t.dims[0], channels, slid), None, t.kind)


@handles("fold")
def _fold(call: Call) -> Value:
    t, output = call.tensor, call.arg(1, "output_size")
    if t.dims is None or len(t.dims) != 3:
        return like(call, None, t.lead, t.kind)
    kernel = shapes.each(call.arg(2, "kernel_size"), 2, None)
    area = shapes.product([Const(k) if k is not None else CONFIG for k in kernel])
    sizes = output.items if isinstance(output, Tuple) and len(output.items) == 2 else (output, output)
    spatial = tuple(shapes.from_value(v or CONFIG) for v in sizes)
    channels = shapes.resized(t.dims[1], lambda n: n // area if area else None)
    return like(call, (t.dims[0], channels, *spatial), None, t.kind)
