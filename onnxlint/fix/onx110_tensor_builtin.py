"""ONX110: torch's operator in the place of Python's `min` and `max`."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.fix.values import Values, sizes_of
from onnxlint.records import Fix, Safety

_PAIRS = {"min": "minimum", "max": "maximum"}
_BOUNDS = {"min": "max", "max": "min"}  # the smaller of a tensor and a number is the tensor, at most the number


@remedy("ONX110", Safety.UNSAFE)
def compare_in_the_graph(site: Site) -> Fix | None:
    """Unsafe: it chooses element by element, where Python asks one tensor for its truth; NaN goes through."""
    call = site.at_span(ast.Call)
    if call is None or call.keywords or len(call.args) != 2 or not isinstance(call.func, ast.Name):
        return None
    name, values = call.func.id, Values(site)
    first, second = call.args
    if name not in _PAIRS or not any(map(values.is_tensor, call.args)):
        return None
    if all(map(values.is_tensor, call.args)):
        text = f"torch.{_PAIRS[name]}({site.source(first)}, {site.source(second)})"
    else:
        tensor, number = (first, second) if values.is_tensor(first) else (second, first)
        known = isinstance(number, (ast.Name, ast.Attribute, ast.Constant)) or literal(number) is not None
        if not known or (isinstance(tensor, ast.Name) and sizes_of(values.told(tensor.id)) not in ([], None)):
            return None
        text = f"torch.clamp({site.source(tensor)}, {_BOUNDS[name]}={site.source(number)})"
    return site.fix(f"use `{text.partition('(')[0]}`", Safety.UNSAFE, site.replace(call, text))
