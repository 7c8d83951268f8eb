"""ONX309: call the module itself."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX309", Safety.UNSAFE, changes_output=True)
def call_the_module(site: Site) -> Fix | None:
    """Unsafe: its hooks run then, which is the point."""
    call = site.at_span(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "forward":
        return None
    return site.fix("call the module itself", Safety.UNSAFE, site.replace(call.func, site.source(call.func.value)))
