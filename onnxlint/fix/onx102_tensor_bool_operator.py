"""ONX102: logical operators of torch in the place of Python's."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site
from onnxlint.rules.values import Values, condition


@remedy("ONX102", Safety.UNSAFE)
def stay_in_the_graph(site: Site) -> Fix | None:
    """Unsafe: both operands are always computed, and what comes out is a boolean tensor instead of a Python bool."""
    node = site.at_span(cst.BaseExpression)
    if not isinstance(node, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
        return None
    text = (_membership(site, node) if isinstance(node, cst.Comparison) else None) or condition(Values(site), node)
    if text is None:
        return None
    return site.fix(f"stay in the graph: `{' '.join(text.split())}`", Safety.UNSAFE, site.replace_whole(node, text))


def _membership(site: Site, node: cst.Comparison) -> str | None:
    """`value in tensor`."""
    match node.comparisons:
        case [cst.ComparisonTarget(cst.In() | cst.NotIn() as operator, values)] if Values(site).is_tensor(values):
            text = f"({site.operand(values)} == {site.operand(node.left)}).any()"
            return text if isinstance(operator, cst.In) else f"torch.logical_not({text})"
    return None
