"""ONX505: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import leave_out
from onnxlint.rules.site import Site


@remedy("ONX505", Safety.UNSAFE, changes_output=True)
def leave_out_training(site: Site) -> Fix | None:
    """Unsafe: the file holds the model in eval mode then, which is the point."""
    return leave_out(site, Safety.UNSAFE)
