"""ONX112: keep a check of a size out of TorchScript's trace."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.guards import under_guard
from onnxlint.rules.site import Site


@remedy("ONX112", Safety.SAFE)
def leave_it_out_of_the_trace(site: Site) -> Fix | None:
    """Safe: eager and dynamo check as before."""
    call = site.at_span(cst.Call)
    statement = site.parent(call) if call is not None else None
    guarded = under_guard(site, statement, "not torch.jit.is_tracing()") if isinstance(statement, cst.Expr) else None
    return site.fix("leave the check out of TorchScript's trace", Safety.SAFE, guarded) if guarded else None
