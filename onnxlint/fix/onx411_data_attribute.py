"""ONX411: `.detach()` in the place of `.data`."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX411", Safety.SAFE)
def detach_instead(site: Site) -> Fix | None:
    """Safe: the same values, cut from the gradient as before; a write through it still reaches the tensor."""
    node = site.at_span(ast.Attribute) or next((n for n in site.inside(ast.Attribute) if n.attr == "data"), None)
    if node is None or node.attr != "data" or not isinstance(node.ctx, ast.Load):
        return None
    parent = site.region.parents.get(node)
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
        return None  # a weight is written
    if isinstance(parent, ast.Attribute) and parent.attr == "detach":
        return site.fix("leave out `.data`", Safety.SAFE, site.replace(node, site.source(node.value)))
    start = site.page.range(node.value)[1]
    end = site.page.range(node)[1]
    at = site.page.text.rfind("data", start, end)
    return site.fix("write `.detach()`", Safety.SAFE, site.splice(at, end, "detach()"))
