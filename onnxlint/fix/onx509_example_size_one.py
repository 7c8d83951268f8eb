"""ONX509: an example with two rows."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import constant
from onnxlint.rules.site import Site, call_name, elements, literal, positional

_MAKERS = ("randn", "rand", "zeros", "ones", "empty")


@remedy("ONX509", Safety.UNSAFE)
def give_it_two_rows(site: Site) -> Fix | None:
    """Unsafe: the example is another one, and so is what a model with one row in mind makes of it."""
    node = site.at_span(cst.BaseExpression)
    if isinstance(node, cst.Tuple) and len(node.elements) == 1:
        node = node.elements[0].value
    made = constant(site, node) if node is not None else None
    if not isinstance(made, cst.Call) or call_name(made) not in _MAKERS or not positional(made):
        return None
    first = positional(made)[0]
    first = (elements(first) or [first])[0]
    if literal(first) != 1:
        return None
    return site.fix("give the example two rows", Safety.UNSAFE, site.replace(first, cst.Integer("2")))
