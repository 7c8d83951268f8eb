"""ONX519: a tensor of its own for every input."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX519", Safety.SAFE)
def give_a_copy(site: Site) -> Fix | None:
    """Safe: the same values in another tensor."""
    node = site.at_span(ast.expr)
    if isinstance(node, ast.Name):
        repeated: ast.Name | None = node
    else:
        seen: set[str] = set()
        repeated = None
        for name in (n for n in site.inside(ast.Name) if isinstance(n.ctx, ast.Load)):
            if name.id in seen:
                repeated = name
                break
            seen.add(name.id)
    if repeated is None:
        return None
    end = site.page.range(repeated)[1]
    return site.fix(f"copy it: `{repeated.id}.clone()`", Safety.SAFE, site.splice(end, end, ".clone()"))
