"""ONX220: the values of a factory function, computed from a range."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, argument, dotted, has_star, keywords, tight


@remedy("ONX220", Safety.UNSAFE)
def compute_from_a_range(site: Site) -> Fix | None:
    """Unsafe by a last digit: `linspace` counts from both ends, and one step alone would divide by zero."""
    call = site.at_span(cst.Call)
    if call is None or dotted(call.func) != "torch.linspace" or has_star(call):
        return None
    start, end, steps = (argument(call, name, at) for at, name in enumerate(("start", "end", "steps")))
    if start is None or end is None or steps is None:
        return None
    options = {name: value for name, value in keywords(call).items() if name not in ("start", "end", "steps")}
    if set(options) - {"device", "dtype"}:
        return None
    dtype = "" if "dtype" in options else ", dtype=torch.get_default_dtype()"
    ramp = f"torch.arange({{steps}}{dtype}{''.join(f', {name}={{{name}}}' for name in options)})"
    parts = {"high": tight(end), "count": tight(steps), "steps": steps, **options}
    if not _is(start, 0):
        parts["low"] = tight(start)
        template = f"{{low}} + ({{high}} - {{low}}) * {ramp} / ({{count}} - 1)"
    elif _is(end, 1):
        del parts["high"]
        template = f"{ramp} / ({{count}} - 1)"
    else:
        template = f"{{high}} * {ramp} / ({{count}} - 1)"
    new = site.fitted(site.expression(template, **parts), call)
    return site.fix("compute the values from `torch.arange`", Safety.UNSAFE, site.replace(call, new))


def _is(node: cst.BaseExpression, number: int) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == number
