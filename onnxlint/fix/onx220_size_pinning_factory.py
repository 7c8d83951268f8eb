"""ONX220: the values of a factory function, computed from a range."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX220", Safety.UNSAFE)
def compute_from_a_range(site: Site) -> Fix | None:
    """Unsafe by a last digit: `linspace` counts from both ends, and one step alone would divide by zero."""
    call = site.at_span(ast.Call)
    if call is None or site.source(call.func) != "torch.linspace":
        return None
    start, end, steps = (argument(call, name, at) for at, name in enumerate(("start", "end", "steps")))
    if start is None or end is None or steps is None:
        return None
    if any(k.arg not in ("start", "end", "steps", "device", "dtype") for k in call.keywords):
        return None
    kept = "".join(f", {k.arg}={site.source(k.value)}" for k in call.keywords if k.arg in ("device", "dtype"))
    dtype = "" if "dtype=" in kept else ", dtype=torch.get_default_dtype()"
    ramp = f"torch.arange({site.source(steps)}{dtype}{kept})"
    low, high, count = _term(site, start), _term(site, end), site.operand(steps)
    zero = isinstance(start, ast.Constant) and start.value == 0
    head = "" if zero and isinstance(end, ast.Constant) and end.value == 1 else f"{high} * "
    text = f"{head}{ramp} / ({count} - 1)" if zero else f"{low} + ({high} - {low}) * {ramp} / ({count} - 1)"
    parent = site.region.parents.get(call)
    given = isinstance(parent, ast.Call) and call in parent.args
    told = text if given or isinstance(parent, (ast.Assign, ast.Return, ast.keyword)) else f"({text})"
    return site.fix("compute the values from `torch.arange`", Safety.UNSAFE, site.replace(call, told))


def _term(site: Site, node: ast.expr) -> str:
    return site.source(node) if isinstance(node, ast.Constant) else site.operand(node)
