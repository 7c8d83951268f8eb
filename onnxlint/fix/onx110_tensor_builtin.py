"""ONX110: torch's operator in the place of Python's `min` and `max`."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, dotted, has_star, literal, positional
from onnxlint.rules.values import Values

_PAIRS = {"min": cst.parse_expression("torch.minimum"), "max": cst.parse_expression("torch.maximum")}
_BOUNDS = {"min": "max", "max": "min"}  # the smaller of a tensor and a number is the tensor, at most the number


@remedy("ONX110", Safety.UNSAFE)
def compare_in_the_graph(site: Site) -> Fix | None:
    """Unsafe: it chooses element by element, where Python asks one tensor for its truth; NaN goes through."""
    call, values = site.at_span(cst.Call), Values(site)
    operands = positional(call) if call is not None and not has_star(call) else []
    if call is None or len(call.args) != 2 or len(operands) != 2 or dotted(call.func) not in _PAIRS:
        return None
    name = dotted(call.func)
    tensor, other = sorted(operands, key=values.is_tensor, reverse=True)
    if values.is_tensor(other):
        new: cst.BaseExpression = call.with_changes(func=_PAIRS[name], lpar=(), rpar=())
    elif values.is_tensor(tensor):
        plain = isinstance(other, (cst.Name, cst.Attribute, cst.BaseNumber)) or literal(other) is not None
        if not plain or values.sizes(tensor) not in ([], None):
            return None
        new = site.expression(f"torch.clamp({{tensor}}, {_BOUNDS[name]}={{other}})", tensor=tensor, other=other)
    else:
        return None
    written = new.func if isinstance(new, cst.Call) else new
    return site.fix(f"use `{dotted(written)}`", Safety.UNSAFE, site.replace(call, new))
