"""Transfer functions of operators that make tensors, and of those that ask a tensor for its size."""

from __future__ import annotations

from onnxlint.flow import shapes
from onnxlint.flow.domain import (
    CONFIG,
    UNKNOWN,
    Config,
    Const,
    Data,
    Dim,
    Extent,
    Seq,
    Shape,
    Tensor,
    Tuple,
    Value,
    as_int,
)
from onnxlint.flow.transfer import Call, handles, kind_of, like


@handles("zeros", "ones", "empty", "rand", "randn", "full")
def _creation(call: Call) -> Value:
    if call.op == "full":
        given = call.arg(0, "size")
        sizes = list(given.items) if isinstance(given, Tuple) else None
        if isinstance(given, Shape) and given.tensor.dims is not None:
            sizes = list(given.tensor.dims)
    else:
        sizes = call.sizes(0, "size")
    call.engine.use_all(call.args, call.op)
    dims = tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None
    kind = kind_of(call.kwargs.get("dtype")) or ("float" if call.op != "full" else None)
    return call.made(dims, kind)


@handles("new_zeros", "new_ones", "new_empty", "new_full")
def _new(call: Call) -> Value:
    sizes = call.sizes(1, "size")
    if call.op == "new_full":
        given = call.arg(1, "size")
        sizes = list(given.items) if isinstance(given, Tuple) else None
    return call.made(tuple(shapes.from_value(s) for s in sizes) if sizes is not None else None, call.tensor.kind)


@handles("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like")
def _creation_like(call: Call) -> Value:
    t = call.tensor
    return Tensor(t.dims, t.lead, "made", kind_of(call.kwargs.get("dtype")) or t.kind, None, None, t.trace)


@handles("randint")
def _randint(call: Call) -> Value:
    given = call.kwargs.get("size") or next((v for v in reversed(call.args) if isinstance(v, Tuple)), None)
    dims = tuple(shapes.from_value(s) for s in given.items) if isinstance(given, Tuple) else None
    return call.made(dims, "int")


@handles("randperm")
def _randperm(call: Call) -> Value:
    given = call.arg(0, "n")
    return call.made((shapes.from_value(given) if given is not None else CONFIG,), "int")


@handles("arange", "linspace", "range")
def _arange(call: Call) -> Value:
    given = [v for v in call.args if isinstance(v, (Dim, Const, Config, Data, Tensor))][:3]
    call.engine.use_all(call.args, call.op)
    size: Extent = CONFIG
    if call.op == "linspace":
        steps = call.arg(2, "steps")
        size = shapes.from_value(steps) if steps is not None else CONFIG
    elif len(given) == 1:
        size = shapes.from_value(given[0])
    else:
        for v in [*given, *call.kwargs.values()]:
            if isinstance(v, (Dim, Data)):
                size = shapes.combine(size, v)
        numbers = [as_int(v) for v in given]
        if not isinstance(size, (Dim, Data)) and numbers and all(n is not None for n in numbers):
            known = [n for n in numbers if n is not None]
            size = Const(len(range(*known))) if len(known) in (2, 3) and (len(known) < 3 or known[2]) else CONFIG
    made = call.made((size,), "float" if call.op == "linspace" else "int")
    made.trace = next((v.trace for v in given if v.trace), None)
    return made


@handles("eye")
def _eye(call: Call) -> Value:
    a = call.arg(0, "n")
    b = call.arg(1, "m") or a
    return call.made(tuple(shapes.from_value(v) if v is not None else CONFIG for v in (a, b)), "float")


@handles(
    "tensor",
    "as_tensor",
    "from_numpy",
    "asarray",
    "scalar_tensor",
    "LongTensor",
    "FloatTensor",
    "IntTensor",
    "BoolTensor",
    "Tensor",
    "new_tensor",
)
def _tensor(call: Call) -> Value:
    given = call.args[1] if call.op == "new_tensor" and len(call.args) > 1 else call.arg(0, "data")
    return call.engine.tensor_from_python(call, given if given is not None else UNKNOWN)


@handles("meshgrid")
def _meshgrid(call: Call) -> Value:
    vectors = call.tensors()
    sizes = tuple(t.dims[0] if t.dims else CONFIG for t in vectors)
    one = like(call, sizes if sizes else None, None, vectors[0].kind if vectors else None)
    return Tuple((one,) * len(vectors)) if vectors else Seq(one)


@handles("size")
def _size(call: Call) -> Value:
    axis = call.arg(1, "dim")
    if axis is None:
        return Shape(call.tensor, call.tensor.trace)
    return call.engine.read_dim(call.tensor, axis, call.node)


@handles("dim", "ndimension")
def _dim(call: Call) -> Value:
    return Const(len(call.tensor.dims)) if call.tensor.dims is not None else CONFIG


@handles("numel", "nelement", "numel_")
def _numel(call: Call) -> Value:
    t = call.tensor
    if t.ragged is not None:
        return Data(call.engine.site(call.node, ""), t.ragged.fixed, True, t.trace)
    if t.axes:
        return Dim(t.axes, plain=False, trace=t.trace)
    return CONFIG


@handles("cond")
def _cond(call: Call) -> Value:
    branch = call.arg(1, "true_fn")
    given = call.arg(3, "operands")
    values = list(given.items) if isinstance(given, Tuple) else []
    return call.engine.apply(branch, values, {}, call.node) if branch is not None else UNKNOWN


@handles("multinomial", "normal", "poisson")
def _draw(call: Call) -> Value:
    sizes = call.sizes(3, "size") if call.op == "normal" and ("size" in call.kwargs or len(call.args) > 2) else None
    if sizes is not None:
        return call.made(tuple(shapes.from_value(s) for s in sizes), "float")
    t = call.tensor
    return like(call, t.dims if call.op != "multinomial" else None, t.lead)
