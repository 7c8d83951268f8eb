"""ONX419: the plain module in the place of a compiled one."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, argument, bare, dotted


@remedy("ONX419", Safety.SAFE)
def leave_it_plain(site: Site) -> Fix | None:
    """Safe: the same function, not compiled. The state dict loses the prefix that compiling puts before its names."""
    call = site.at_span(cst.Call)
    part = argument(call, "model", 0) if call is not None and dotted(call.func) == "torch.compile" else None
    if call is None or part is None:
        return None
    return site.fix("leave the part as it is", Safety.SAFE, site.replace(call, site.fitted(bare(part), call)))
