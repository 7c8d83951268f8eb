"""ONX505: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.exports import leave_out
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX505", Safety.UNSAFE, changes_output=True)
def leave_out_training(site: Site) -> Fix | None:
    """Unsafe: the file holds the model in eval mode then, which is the point."""
    return leave_out(site, Safety.UNSAFE)
