"""ONX519: a tensor of its own for every input."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, is_loaded, variables


@remedy("ONX519", Safety.SAFE)
def give_a_copy(site: Site) -> Fix | None:
    """Safe: the same values in another tensor."""
    node = site.at_span(cst.BaseExpression)
    if node is None:
        return None
    names = [n for n in variables(node) if is_loaded(site, n)]
    again = (n for at, n in enumerate(names) if n.value in {other.value for other in names[:at]})
    repeated = node if isinstance(node, cst.Name) else next(again, None)
    if repeated is None:
        return None
    new = site.expression("{name}.clone()", name=repeated.with_changes(lpar=(), rpar=()))
    return site.fix(f"copy it: `{repeated.value}.clone()`", Safety.SAFE, site.replace(repeated, new))
