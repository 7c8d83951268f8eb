"""ONX507: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import leave_out
from onnxlint.rules.site import Site


@remedy("ONX507", Safety.SAFE)
def leave_out_removed(site: Site) -> Fix | None:
    """Safe: with the argument the call raises."""
    return leave_out(site, Safety.SAFE)
