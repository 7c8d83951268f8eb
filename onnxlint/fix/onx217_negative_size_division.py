"""ONX217: round up with a positive sum."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, literal
from onnxlint.rules.sizes import rounded_up
from onnxlint.rules.values import Values

_NEGATED = m.UnaryOperation(operator=m.Minus())
_ROUNDED_UP = m.UnaryOperation(
    operator=m.Minus(), expression=m.BinaryOperation(left=_NEGATED, operator=m.FloorDivide())
)


@remedy("ONX217", Safety.SAFE)
def round_up_from_above(site: Site) -> Fix | None:
    """Safe: the same number for every size."""
    for node in (*site.inside(cst.UnaryOperation), *site.inside(cst.BinaryOperation)):
        outer = site.parent(node) if isinstance(node, cst.BinaryOperation) else node
        if outer is None or not m.matches(outer, _ROUNDED_UP):
            continue
        division = cst.ensure_type(cst.ensure_type(outer, cst.UnaryOperation).expression, cst.BinaryOperation)
        size = cst.ensure_type(division.left, cst.UnaryOperation).expression
        new = rounded_up(Values(site), size, division.right) if literal(division.right) is not None else None
        if new is not None:
            title = f"round up with a positive sum: `{site.tree.code(new)}`"
            return site.fix(title, Safety.SAFE, site.replace(outer, new))
    return None
