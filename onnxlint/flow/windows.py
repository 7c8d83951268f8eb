"""Transfer functions of operators on spatial axes: convolution, pooling, resizing, padding."""

from __future__ import annotations

from onnxlint.flow import shapes
from onnxlint.flow.domain import (
    CONFIG,
    Extent,
    Seq,
    Shape,
    Tensor,
    Tuple,
    Value,
    is_none,
)
from onnxlint.flow.transfer import Call, handles, like


@handles(
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "pixel_shuffle",
    "pixel_unshuffle",
)
def _spatial(call: Call) -> Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, t.lead)
    keeps_channels = "pool" in call.op
    weight = call.arg(1, "weight")
    channels = (
        t.dims[1:2]
        if keeps_channels
        else (weight.dims[:1] if isinstance(weight, Tensor) and weight.dims else (CONFIG,))
    )
    spatial = tuple(shapes.window(d, None, None, None) for d in t.dims[2:])
    return like(call, (*t.dims[:1], *channels, *spatial))


@handles(
    "interpolate",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "grid_sample",
    "upsample",
)
def _resize(call: Call) -> Value:
    t = call.tensor
    if t.dims is None or len(t.dims) < 3:
        return like(call, None, t.lead)
    given = call.arg(1, "size", "output_size")
    count = len(t.dims) - 2
    spatial: tuple[Extent, ...]
    if isinstance(given, Tuple) and len(given.items) == count:
        spatial = tuple(d if is_none(v) else shapes.from_value(v) for v, d in zip(given.items, t.dims[2:], strict=True))
    elif call.op == "grid_sample" and isinstance(given, Tensor):
        spatial = given.dims[1:-1] if given.dims is not None else (CONFIG,) * count
    elif given is not None and not is_none(given) and not isinstance(given, (Seq, Shape)):
        spatial = (shapes.from_value(given),) * count
    else:
        spatial = tuple(shapes.window(d, None, None, None) for d in t.dims[2:])
    return like(call, (*t.dims[:2], *spatial))


@handles("pad")
def _pad(call: Call) -> Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, t.lead, t.kind)
    amounts = call.arg(1, "pad")
    touched = len(amounts.items) // 2 if isinstance(amounts, Tuple) else len(t.dims)
    dims = tuple(d if i < len(t.dims) - touched else shapes.combine(d, CONFIG) for i, d in enumerate(t.dims))
    return like(call, dims, None, t.kind)
