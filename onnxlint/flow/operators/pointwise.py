"""Transfer functions of operators that keep the shape, broadcast their operands, or reduce over axes."""

from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.operators.transfer import Call, cast_kind, handles, like
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Const, Tensor, Tuple, Value, is_none, is_true, replace


@handles(*NAMES["elementwise"])
def _elementwise(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    kind = call.tensor.kind if call.op in ("add", "sub", "mul", "abs", "neg", "clamp", "masked_fill") else None
    if kind == "bool" and call.op != "masked_fill" and any(getattr(v, "kind", None) != kind for v in call.args):
        kind = None  # numbers, by what they are combined with
    if kind == "complex" and call.op == "abs":
        kind = "float"
    if call.op in ("neg", "negative"):
        kind = "signed"
    elif kind in ("int", "index", "signed"):
        lowest = call.int_arg(1, "min")
        positive = call.op == "abs" or (kind == "index" and call.op == "mul")
        kind = "index" if positive or (call.op == "clamp" and lowest is not None and lowest >= 0) else "int"
    real = call.op in ("abs", "absolute", "angle")
    if call.op in ("complex", "polar") or (not real and any(t.kind == "complex" for t in call.tensors())):
        kind = "complex"
    made = like(call, dims, lead, kind)
    anew = call.op in unflattened_sizes.FUNCTIONS and not call.name.endswith("_")
    return unflattened_sizes.combined(made, call.tensors()) if anew else made


@handles(*NAMES["keeps-shape"])
def _same(call: Call) -> Value:
    t = call.tensor
    kind = cast_kind(call) if call.op in ("to", "type") else "index" if call.op in ("argsort", "bucketize") else t.kind
    if call.name.startswith("torch.fft.") and "shift" not in call.op:
        kind = "complex"
    elif kind == "bool" and call.op in ("cumsum", "byte", "char"):
        kind = "index"
    elif call.op == "type_as":
        kind = next((v.kind for v in call.args[1:] if isinstance(v, Tensor)), None)
    result = like(call, t.dims, t.lead, kind)
    if call.op in ("to", "type_as"):  # of another tensor only the kind and the device
        result.source, result.guessed, result.trace = t.source, t.guessed, t.trace
    if call.op in ("contiguous", "detach", "to", "cpu"):
        result.view = t.view
    if call.op in ("contiguous", "detach", "to", "cpu", "tril", "triu"):
        result.made_at = t.made_at
    flat = t.dims is not None and len(t.dims) == 1
    if call.op == "sort":
        return Tuple((result, replace(result, kind="index", distinct=flat)))
    return replace(result, distinct=flat) if call.op == "argsort" else result


@handles("float double half bfloat16 long int short bool")
def _cast(call: Call) -> Value:
    kind = {"long": "int", "int": "int", "short": "int", "bool": "bool"}.get(call.op, "float")
    if kind == "int" and call.tensor.kind in ("bool", "index"):
        kind = "index"
    return like(call, call.tensor.dims, call.tensor.lead, kind)


@handles(*NAMES["compares"])
def _compare(call: Call) -> Value:
    return like(call, *shapes.elementwise(call.tensors() or [call.tensor]), "bool")


@handles(*NAMES["reduces"])
def _reduce(call: Call) -> Value:
    t = call.tensor
    if call.op in ("max", "min") and len(call.args) > 1 and isinstance(call.args[1], Tensor):
        return _elementwise(call)
    position = 2 if call.op in ("norm", "vector_norm", "quantile", "nanquantile", "kthvalue") else 1
    dim = call.arg(position, "dim", "axis")
    axes = shapes.ints(dim)
    known = dim is None or is_none(dim) or axes is not None
    dims = shapes.reduce(t, axes, is_true(call.arg(position + 1, "keepdim", "keepdims"))) if known else None
    result = like(call, dims, t.lead if axes and 0 not in axes else None)
    if call.op in ("argmax", "argmin", "count_nonzero") or (call.op == "sum" and t.kind in ("bool", "index")):
        result.kind = "index"
    elif call.op in ("max", "min", "amax", "amin") and t.kind in ("int", "index"):
        result.kind = t.kind
    elif call.op in ("all", "any"):
        result.kind = "bool"
    if call.op in ("max", "min", "median", "mode", "kthvalue") and axes is not None:
        return Tuple((result, replace(result, kind="index")))
    return result


@handles("cummax cummin")
def _running(call: Call) -> Value:
    return Tuple(tuple(like(call, call.tensor.dims, call.tensor.lead, kind) for kind in (call.tensor.kind, "index")))


@handles("diff")
def _diff(call: Call) -> Value:
    t, order, axis = call.tensor, call.int_arg(1, "n", default=1), call.int_arg(2, "dim", default=-1)
    at = shapes.normal(axis, len(t.dims)) if t.dims is not None else None
    if t.dims is None or at is None or "append" in call.kwargs or "prepend" in call.kwargs:
        return like(call, None, t.lead if axis else None, t.kind)
    size = shapes.resized(t.dims[at], lambda n: max(n - order, 0) if order is not None else None)
    return like(call, (*t.dims[:at], size, *t.dims[at + 1 :]), None, t.kind)


@handles("glu")
def _glu(call: Call) -> Value:
    dims, kind = call.tensor.dims, call.tensor.kind
    at = shapes.normal(call.int_arg(1, "dim", default=-1), len(dims)) if dims is not None else None
    if dims is None or at is None:
        return like(call, None, None, kind)
    return like(call, (*dims[:at], shapes.resized(dims[at], lambda n: n // 2), *dims[at + 1 :]), None, kind)


@handles("view_as_real view_as_complex")
def _complex_view(call: Call) -> Value:
    t = call.tensor
    if t.dims is None:
        return like(call, None, t.lead)
    real = call.op == "view_as_real"
    return like(call, (*t.dims, Const(2)) if real else t.dims[:-1], None, "float" if real else "complex")


@handles("stft")
def _stft(call: Call) -> Value:
    whole = call.kwargs.get("return_complex")
    real = whole is None or (isinstance(whole, Const) and not whole.literal)  # as it was before torch 2.0
    return like(call, None, call.tensor.lead, "float" if real else "complex")


@handles("searchsorted")
def _searchsorted(call: Call) -> Value:
    values = call.arg(1, "input")
    values = values if isinstance(values, Tensor) else Tensor(())
    return like(call, values.dims, values.lead, "index")


@handles("std_mean var_mean")
def _reduce_two(call: Call) -> Value:
    one = _reduce(replace(call, op="std"))
    return Tuple((one, one))
