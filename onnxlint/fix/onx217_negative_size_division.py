"""ONX217: round up with a positive sum."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.fix.values import Values
from onnxlint.records import Fix, Safety


@remedy("ONX217", Safety.SAFE)
def round_up_from_above(site: Site) -> Fix | None:
    """Safe: the same number for every size."""
    for node in (*site.inside(ast.UnaryOp), *site.inside(ast.BinOp)):
        outer = node if isinstance(node, ast.UnaryOp) else site.region.parents.get(node)
        if not (isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub)):
            continue
        inner = outer.operand
        if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.FloorDiv)):
            continue
        left, parts = inner.left, literal(inner.right)
        if not (isinstance(left, ast.UnaryOp) and isinstance(left.op, ast.USub)) or parts is None or parts < 1:
            continue
        if not Values(site).is_size(left.operand):
            continue
        start, end = site.page.range(outer)
        text = f"({site.operand(left.operand)} + {parts - 1}) // {parts}"
        return site.fix(f"round up with a positive sum: `{text}`", Safety.SAFE, site.splice(start, end, text))
    return None
