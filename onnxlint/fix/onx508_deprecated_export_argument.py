"""ONX508: leave the argument out."""

from __future__ import annotations

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import leave_out
from onnxlint.rules.site import Site


@remedy("ONX508", Safety.UNSAFE)
def leave_out_deprecated(site: Site) -> Fix | None:
    """Unsafe: an operator that was let through as it is is refused then."""
    return leave_out(site, Safety.UNSAFE)
