"""Transfer functions of operators that keep the shape, broadcast their operands, or reduce over axes."""

from __future__ import annotations

from dataclasses import replace

from onnxlint.flow import shapes
from onnxlint.flow.domain import (
    Const,
    Tensor,
    Tuple,
    Value,
    is_none,
)
from onnxlint.flow.transfer import Call, cast_kind, handles, like


@handles(
    "relu",
    "gelu",
    "silu",
    "sigmoid",
    "tanh",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "abs",
    "neg",
    "square",
    "pow",
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "where",
    "clamp",
    "clip",
    "clamp_min",
    "clamp_max",
    "maximum",
    "minimum",
    "masked_fill",
    "softplus",
    "leaky_relu",
    "elu",
    "hardswish",
    "mish",
    "erf",
    "sin",
    "cos",
    "atan2",
    "fmod",
    "remainder",
    "floor_divide",
    "lerp",
    "addcmul",
    "addcdiv",
    "nan_to_num",
    "round",
    "floor",
    "ceil",
    "sign",
    "dropout",
    "alpha_dropout",
    "feature_dropout",
    "dropout2d",
    "dropout1d",
    "dropout3d",
    "bernoulli",
)
def _elementwise(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    kind = call.tensor.kind if call.op in ("add", "sub", "mul", "abs", "neg", "clamp", "masked_fill") else None
    return like(call, dims, lead, kind)


@handles(
    "softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
    "flip",
    "roll",
    "sort",
    "layer_norm",
    "group_norm",
    "batch_norm",
    "instance_norm",
    "normalize",
    "rms_norm",
    "contiguous",
    "clone",
    "detach",
    "cpu",
    "cuda",
    "requires_grad_",
    "tril",
    "triu",
    "index_add",
    "index_copy",
    "index_fill",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "masked_scatter",
    "renorm",
    "fill",
    "zero",
    "copy",
    "to",
    "type",
    "type_as",
    "local_response_norm",
    "erfinv",
)
def _same(call: Call) -> Value:
    t = call.tensor
    result = like(call, t.dims, t.lead, cast_kind(call) if call.op in ("to", "type") else t.kind)
    if call.op in ("contiguous", "detach", "to", "cpu"):
        result.view = t.view
        result.made_at = t.made_at
    return Tuple((result, replace(result, kind="int"))) if call.op == "sort" else result


@handles("float", "double", "half", "bfloat16", "long", "int", "short", "bool")
def _cast(call: Call) -> Value:
    kind = {"long": "int", "int": "int", "short": "int", "bool": "bool"}.get(call.op, "float")
    return like(call, call.tensor.dims, call.tensor.lead, kind)


@handles(
    "eq",
    "ne",
    "gt",
    "lt",
    "ge",
    "le",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "logical_xor",
    "isclose",
    "isin",
    "bitwise_and",
    "bitwise_or",
    "bitwise_not",
)
def _compare(call: Call) -> Value:
    dims, lead = shapes.elementwise(call.tensors() or [call.tensor])
    return like(call, dims, lead, "bool")


@handles(
    "sum",
    "mean",
    "prod",
    "std",
    "var",
    "amax",
    "amin",
    "all",
    "any",
    "logsumexp",
    "norm",
    "argmax",
    "argmin",
    "max",
    "min",
    "median",
    "mode",
    "nansum",
    "nanmean",
    "count_nonzero",
    "quantile",
    "kthvalue",
    "aminmax",
)
def _reduce(call: Call) -> Value:
    t = call.tensor
    second = call.args[1] if len(call.args) > 1 else None
    if call.op in ("max", "min") and isinstance(second, Tensor):
        return _elementwise(call)
    position = 2 if call.op in ("norm", "quantile", "kthvalue") else 1
    given = call.arg(position, "dim", "axis")
    keep = call.arg(position + 1, "keepdim", "keepdims")
    axes = shapes.ints(given)
    kept = isinstance(keep, Const) and keep.literal is True
    if given is not None and not is_none(given) and axes is None:
        result = like(call, None)
    else:
        result = like(call, shapes.reduce(t, axes, kept))
        if result.dims is None and axes and 0 not in axes:
            result.lead = t.lead
    if call.op in ("argmax", "argmin", "count_nonzero"):
        result.kind = "int"
    elif call.op in ("all", "any"):
        result.kind = "bool"
    if call.op in ("max", "min", "median", "mode", "kthvalue") and axes is not None:
        return Tuple((result, replace(result, kind="int")))
    return result


@handles("std_mean", "var_mean")
def _reduce_two(call: Call) -> Value:
    one = _reduce(replace(call, op="std"))
    return Tuple((one, one))
