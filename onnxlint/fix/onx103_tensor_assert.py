"""ONX103: keep an assertion out of the export."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.guards import under_guard
from onnxlint.rules.site import Site

_EAGER = "not torch.onnx.is_in_onnx_export()"


@remedy("ONX103", Safety.SAFE)
def leave_it_to_eager(site: Site) -> Fix | None:
    """Safe: eager asserts as before, and both exporters answer the test with True."""
    node = site.at_span(cst.BaseExpression)
    statement = site.statement(node) if node is not None else None
    if isinstance(statement, cst.If) and not isinstance(site.parent(statement), cst.If):
        test, text = statement.test, site.source(statement.test)
        loose = isinstance(test, cst.IfExp) or (
            isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
        )
        change = site.replace(test, f"{_EAGER} and ({text})" if loose else f"{_EAGER} and {text}")
        return site.fix("leave the check to eager mode", Safety.SAFE, change)
    guarded = under_guard(site, statement, _EAGER) if isinstance(statement, cst.Assert) else None
    return site.fix("leave the assertion to eager mode", Safety.SAFE, guarded) if guarded else None
