"""ONX102: logical operators of torch in the place of Python's."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, condition
from onnxlint.records import Fix, Safety


@remedy("ONX102", Safety.UNSAFE)
def stay_in_the_graph(site: Site) -> Fix | None:
    """Unsafe: both operands are always computed, and what comes out is a boolean tensor instead of a Python bool."""
    node = site.at_span(ast.expr)
    if not isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
        return None
    text = _membership(site, node) if isinstance(node, ast.Compare) else None
    text = text or condition(Values(site), node)
    if text is None:
        return None
    return site.fix(f"stay in the graph: `{' '.join(text.split())}`", Safety.UNSAFE, site.replace_whole(node, text))


def _membership(site: Site, node: ast.Compare) -> str | None:
    """`value in tensor`."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return None
    if not Values(site).is_tensor(node.comparators[0]):
        return None
    text = f"({site.operand(node.comparators[0])} == {site.operand(node.left)}).any()"
    return text if isinstance(node.ops[0], ast.In) else f"torch.logical_not({text})"
