"""ONX509: an example with two rows."""

from __future__ import annotations

import ast

from onnxlint.fix.exports import constant
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.records import Fix, Safety

_MAKERS = ("randn", "rand", "zeros", "ones", "empty")


@remedy("ONX509", Safety.UNSAFE)
def give_it_two_rows(site: Site) -> Fix | None:
    """Unsafe: the example is another one, and so is what a model with one row in mind makes of it."""
    node = site.at_span(ast.expr)
    if isinstance(node, ast.Tuple) and len(node.elts) == 1:
        node = node.elts[0]
    made = constant(site, node) if node is not None else None
    if not isinstance(made, ast.Call) or site.source(made.func).rpartition(".")[2] not in _MAKERS or not made.args:
        return None
    first = made.args[0]
    if isinstance(first, (ast.Tuple, ast.List)) and first.elts:
        first = first.elts[0]
    if literal(first) != 1:
        return None
    return site.fix("give the example two rows", Safety.UNSAFE, site.replace(first, "2"))
