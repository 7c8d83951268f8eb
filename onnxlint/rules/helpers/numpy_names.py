"""Which function of torch means the same as one of numpy, on a tensor in the place of an array."""

from __future__ import annotations

# Same meaning for the arguments that both have; `axis` is called `dim` and `keepdims` `keepdim`.
_SAME = """
    abs sign exp expm1 log log2 log10 log1p sqrt square floor ceil round sin cos tan tanh sinh cosh where isnan isfinite
    isinf matmul outer cumsum cumprod stack argmax argmin argsort sum mean prod reshape einsum full_like zeros_like
    ones_like nan_to_num logical_and logical_or logical_not hypot reciprocal trunc fmod any all diff flip squeeze exp2
    sinc tril triu ravel maximum minimum add
"""
FUNCTIONS = {
    **{name: name for name in _SAME.split()},
    **{"absolute": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh"},
    **{"clip": "clamp", "power": "pow", "concatenate": "cat", "expand_dims": "unsqueeze", "negative": "neg"},
    **{"max": "amax", "min": "amin", "amax": "amax", "amin": "amin", "multiply": "mul", "divide": "div"},
    **{"subtract": "sub", "true_divide": "div"},
}
WITHOUT_AXIS = {"amax": "max", "amin": "min"}
_METHODS = """
    sum mean max min prod reshape argmax argmin squeeze flatten cumsum ravel any all round
"""
METHODS = {**{name: name for name in _METHODS.split()}, "copy": "clone", "clip": "clamp", "astype": "to"}
# Attributes of numpy that are values.
VALUES = {
    **{name: f"torch.{name}" for name in ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8")},
    **{"pi": "torch.pi", "inf": "torch.inf", "nan": "torch.nan", "newaxis": "None", "bool_": "torch.bool"},
}
KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
# These read a dim where numpy reads none, or take numbers where torch takes tensors only.
MEETS = ("maximum", "minimum")
