"""Transfer functions of products: matrices, einsum, convolution, attention."""

from collections.abc import Sequence

from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.operators.transfer import Call, handles, like
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Const, Dim, Extent, Tensor, Value, as_int


@handles("matmul mm bmm mv dot vdot baddbmm addmm addbmm addmv")
def _matmul(call: Call) -> Value:
    operands = call.args[1:] if call.op in ("baddbmm", "addmm", "addbmm", "addmv") else call.args
    tensors = [v for v in [*operands, *call.kwargs.values()] if isinstance(v, Tensor)]
    if len(tensors) < 2:
        return like(call, None)
    a, b = tensors[0], tensors[1]
    dims = shapes.matmul(a, b)
    dims = dims[1:] if call.op == "addbmm" and dims is not None else dims
    made = like(call, dims, shapes.elementwise([a, b])[1] if dims is None else None)
    return unflattened_sizes.combined(made, (a, b)) if call.op in unflattened_sizes.FUNCTIONS else made


@handles("outer ger kron tensordot")
def _outer(call: Call) -> Value:
    a, b = call.tensor.dims, call.args[1].dims if len(call.args) > 1 and isinstance(call.args[1], Tensor) else None
    count = call.int_arg(2, "dims", default=2) if call.op == "tensordot" else 0
    if a is None or b is None or count is None or count > min(len(a), len(b)):
        return like(call, None)
    if call.op != "kron":
        return like(call, (*a[: len(a) - count], *b[count:]))
    ones = (Const(1),) * max(len(a), len(b))
    return like(call, tuple(map(shapes.fold, zip((*ones[len(a) :], *a), (*ones[len(b) :], *b), strict=True))))


@handles("linear embedding")
def _weighted(call: Call) -> Value:
    t, weight = call.tensor, call.arg(1, "weight")
    sizes = weight.dims if isinstance(weight, Tensor) and weight.dims else (CONFIG,)
    if call.op == "linear":
        return like(call, (*t.dims[:-1], sizes[0]) if t.dims else None, t.lead)
    return like(call, (*t.dims, sizes[-1]) if t.dims is not None else None, t.lead, "float")


@handles("cdist scaled_dot_product_attention")
def _pairs(call: Call) -> Value:
    position, axis = (1, -2) if call.op == "cdist" else (2, -1)
    a, b = call.arg(0, "x1", "query"), call.arg(position, "x2", "value")
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dims and b.dims and min(len(a.dims), len(b.dims)) >= -axis:
        return like(call, (*a.dims[:-1], b.dims[axis]))
    return like(call, None, call.tensor.lead)


@handles("cosine_similarity pairwise_distance")
def _similarity(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    axis = call.int_arg(2, "dim", default=1) if call.op == "cosine_similarity" else -1
    at = shapes.normal(axis, len(dims)) if dims is not None else None
    if dims is None or at is None:
        return like(call, None, lead if axis else None)
    return like(call, tuple(d for i, d in enumerate(dims) if i != at))


@handles("einsum")
def _einsum(call: Call) -> Value:
    equation = call.args[0] if call.args else None
    text = equation.literal if isinstance(equation, Const) else None
    tensors = call.tensors()
    dims = einsum(text, tensors, call.engine.context.axes) if isinstance(text, str) else None
    return like(call, dims, shapes.elementwise(tensors)[1] if tensors else None)


def einsum(text: str, tensors: Sequence[Tensor], axes: shapes.Axes) -> shapes.Dims | None:
    """Dims of `torch.einsum`, the implicit form and the ellipsis included."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        return None
    sizes: dict[str, Extent] = {}
    rest: shapes.Dims | None = ()
    for term, t in zip(terms, tensors, strict=True):
        first, dots, last = term.partition("...")
        if t.dims is None:
            if dots:
                return None
            extents = [shapes.extent_of(t, i, axes) for i in range(len(first))]
        elif len(t.dims) < len(first) + len(last) or (not dots and len(t.dims) != len(first)):
            return None
        else:
            extents = [*t.dims[: len(first)], *t.dims[len(t.dims) - len(last) :]]
            rest = shapes.broadcast(rest, t.dims[len(first) : len(t.dims) - len(last)]) if dots else rest
        for letter, extent in zip(first + last, extents, strict=True):
            if letter not in sizes or isinstance(extent, Dim) or as_int(sizes[letter]) == 1:
                sizes[letter] = extent
    if not arrow:
        letters = "".join(terms).replace(".", "")
        right = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    before, dots, after = right.partition("...")
    if rest is None or not set(before + after) <= sizes.keys():
        return None
    return (*(sizes[c] for c in before), *(rest if dots else ()), *(sizes[c] for c in after))
