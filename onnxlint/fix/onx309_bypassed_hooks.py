"""ONX309: call the module itself."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site


@remedy("ONX309", Safety.UNSAFE, changes_output=True)
def call_the_module(site: Site) -> Fix | None:
    """Unsafe: its hooks run then, which is the point."""
    call = site.at_span(cst.Call)
    if call is None or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "forward":
        return None
    return site.fix("call the module itself", Safety.UNSAFE, site.replace(call.func, call.func.value))
