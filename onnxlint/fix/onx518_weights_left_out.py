"""ONX518: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import leave_out
from onnxlint.rules.site import Site


@remedy("ONX518", Safety.SAFE)
def keep_the_weights(site: Site) -> Fix | None:
    """Safe: without its weights the file does not run."""
    return leave_out(site, Safety.SAFE)
