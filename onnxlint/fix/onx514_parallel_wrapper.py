"""ONX514: export the module in the wrapper."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site


@remedy("ONX514", Safety.UNSAFE)
def unwrap(site: Site) -> Fix | None:
    """Unsafe: the parallel wrapper is left out of the export."""
    node = site.at_span(cst.BaseExpression)
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    new = site.expression("{model}.module", model=node.with_changes(lpar=(), rpar=()))
    return site.fix("export `model.module`", Safety.UNSAFE, site.replace(node, new))
