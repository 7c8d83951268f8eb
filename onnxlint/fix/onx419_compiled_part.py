"""ONX419: the plain module in the place of a compiled one."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX419", Safety.SAFE)
def leave_it_plain(site: Site) -> Fix | None:
    """Safe: the same function, not compiled. The state dict loses the prefix that compiling puts before its names."""
    call = site.at_span(ast.Call)
    if call is None or site.source(call.func) != "torch.compile" or len(call.args) != 1:
        return None
    return site.fix("leave the part as it is", Safety.SAFE, site.replace(call, site.source(call.args[0])))
