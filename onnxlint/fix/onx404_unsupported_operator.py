"""ONX404: a median by sorting."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.records import Fix, Safety


@remedy("ONX404", Safety.UNSAFE)
def sort_instead(site: Site) -> Fix | None:
    """The lower of the two middle values, which sorting puts at a known place. Unsafe: NaN is sorted to the end."""
    call = site.at_span(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "median":
        return None
    function = site.source(call.func.value) == "torch"
    given = call.args[1:] if function else call.args
    tensor = call.args[0] if function and call.args else call.func.value
    if not isinstance(tensor, (ast.Name, ast.Attribute)) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    text = site.source(tensor)
    dim = argument(call, "dim", 1 if function else 0)
    if dim is None:
        if given or call.keywords:
            return None
        picked = f"{text}.flatten().sort().values[({text}.numel() - 1) // 2]"
        return site.fix("sort, and take the middle", Safety.UNSAFE, site.replace(call, picked))
    parent = site.region.parents.get(call)
    axis = literal(dim)
    keep = argument(call, "keepdim", 2 if function else 1)
    if axis is None or not (keep is None or (isinstance(keep, ast.Constant) and isinstance(keep.value, bool))):
        return None
    values = isinstance(parent, ast.Attribute) and parent.attr == "values"
    first = isinstance(parent, ast.Subscript) and parent.value is call and literal(parent.slice) == 0
    if parent is None or not (values or first):
        return None  # the places of the medians are asked for too
    middle = f"({text}.shape[{axis}] - 1) // 2"
    picked = f"{text}.sort(dim={axis}).values.select({axis}, {middle})"
    if keep is not None and isinstance(keep, ast.Constant) and keep.value:
        picked += f".unsqueeze({axis})"
    return site.fix("sort, and take the middle", Safety.UNSAFE, site.replace(parent, picked))
