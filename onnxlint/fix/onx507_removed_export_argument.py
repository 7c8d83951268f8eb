"""ONX507: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.exports import leave_out
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX507", Safety.SAFE)
def leave_out_removed(site: Site) -> Fix | None:
    """Safe: with the argument the call raises."""
    return leave_out(site, Safety.SAFE)
