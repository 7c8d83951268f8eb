"""ONX414: the function without the underscore."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX414", Safety.UNSAFE)
def make_a_new_tensor(site: Site) -> Fix | None:
    """Unsafe: the caller's tensor keeps its shape then."""
    call = site.at_span(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or not call.func.attr.endswith("_"):
        return None
    end = site.page.range(call.func)[1]
    drop = site.splice(end - 1, end, "")
    name = call.func.attr[:-1]
    parent = site.region.parents.get(call)
    if isinstance(parent, ast.Expr) and isinstance(call.func.value, ast.Name):
        start = site.page.range(call)[0]
        text = f"{call.func.value.id} = "
        return site.fix(f"go on with what `{name}` returns", Safety.UNSAFE, site.splice(start, start, text), drop)
    return None
