"""Transfer functions of products: matrices, einsum, convolution, attention."""

from __future__ import annotations

from onnxlint.flow import shapes
from onnxlint.flow.domain import (
    CONFIG,
    Const,
    Dim,
    Extent,
    Tensor,
    Value,
)
from onnxlint.flow.transfer import Call, handles, like


@handles("matmul", "mm", "bmm", "baddbmm", "addmm")
def _matmul(call: Call) -> Value:
    operands = call.args[1:] if call.op in ("baddbmm", "addmm") else call.args
    tensors = [v for v in operands if isinstance(v, Tensor)]
    if len(tensors) < 2:
        return like(call, None)
    a, b = tensors[0], tensors[1]
    if a.dims is None or b.dims is None or len(a.dims) < 2 or len(b.dims) < 2:
        return like(call, None, shapes.elementwise([a, b])[1])
    head = shapes.broadcast(a.dims[:-2], b.dims[:-2]) or ()
    return like(call, (*head, a.dims[-2], b.dims[-1]))


@handles("linear")
def _linear(call: Call) -> Value:
    t = call.tensor
    weight = call.arg(1, "weight")
    last = weight.dims[0] if isinstance(weight, Tensor) and weight.dims else CONFIG
    return like(call, (*t.dims[:-1], last) if t.dims else None, t.lead)


@handles("embedding")
def _embedding(call: Call) -> Value:
    t = call.tensor
    weight = call.arg(1, "weight")
    width = weight.dims[-1] if isinstance(weight, Tensor) and weight.dims else CONFIG
    return like(call, (*t.dims, width) if t.dims is not None else None, t.lead, "float")


@handles("cdist")
def _cdist(call: Call) -> Value:
    a, b = call.arg(0, "x1"), call.arg(1, "x2")
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dims and b.dims and len(a.dims) > 1 and len(b.dims) > 1:
        return like(call, (*a.dims[:-1], b.dims[-2]))
    return like(call, None, call.tensor.lead)


@handles("scaled_dot_product_attention")
def _attention(call: Call) -> Value:
    q, v = call.arg(0, "query"), call.arg(2, "value")
    if isinstance(q, Tensor) and isinstance(v, Tensor) and q.dims and v.dims:
        return like(call, (*q.dims[:-1], v.dims[-1]))
    return like(call, None, call.tensor.lead)


@handles("einsum")
def _einsum(call: Call) -> Value:
    equation = call.args[0] if call.args else None
    tensors = call.tensors()
    text = equation.literal if isinstance(equation, Const) else None
    if not isinstance(text, str) or "->" not in text or "." in text:
        return like(call, None, shapes.elementwise(tensors)[1] if tensors else None)
    left, _, right = text.replace(" ", "").partition("->")
    sizes: dict[str, Extent] = {}
    for term, t in zip(left.split(","), tensors, strict=False):
        for i, letter in enumerate(term):
            extent = shapes.extent_of(t, i, call.engine.axes) if t.dims is None or i < len(t.dims) else CONFIG
            if letter not in sizes or isinstance(extent, Dim):
                sizes[letter] = extent
    return like(call, tuple(sizes.get(letter, CONFIG) for letter in right))
