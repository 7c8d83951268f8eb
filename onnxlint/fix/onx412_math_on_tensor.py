"""ONX412: the function of the same name in torch."""

from __future__ import annotations

import ast

from onnxlint.fix.freed import takes_tensor
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, stripped
from onnxlint.records import Fix, Safety

_SAME = frozenset(
    (
        *("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor", "ceil", "trunc", "exp2"),
        *("isnan", "isinf", "isfinite"),
    )
)
_OTHER = {"fabs": "abs", "pow": "pow", "atan2": "atan2", "hypot": "hypot", "fmod": "fmod"}


@remedy("ONX412", Safety.UNSAFE)
def stay_in_torch(site: Site) -> Fix | None:
    """Unsafe by a last digit: `math` computes in double precision."""
    call = next((c for c in site.inside(ast.Call) if site.source(c.func).startswith("math.")), None)
    if call is None or call.keywords:
        return None
    name = site.source(call.func).removeprefix("math.")
    torch_name = name if name in _SAME else _OTHER.get(name)
    inner = [stripped(site, a) for a in call.args]
    values = Values(site)
    wanted = 2 if name in ("pow", "atan2", "hypot", "fmod") else 1
    if torch_name is None or len(inner) != wanted or not takes_tensor(site, call):
        return None
    if not values.is_tensor(inner[0]) or (name in ("atan2", "hypot") and not all(map(values.is_tensor, inner))):
        return None
    text = f"torch.{torch_name}({', '.join(map(site.source, inner))})"
    return site.fix(f"use `torch.{torch_name}`", Safety.UNSAFE, site.replace(call, text))
