"""ONX518: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.exports import leave_out
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX518", Safety.SAFE)
def keep_the_weights(site: Site) -> Fix | None:
    """Safe: without its weights the file does not run."""
    return leave_out(site, Safety.SAFE)
