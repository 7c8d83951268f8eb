"""ONX213: the length of the input in the place of a literal."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.onx201_literal_batch import size_arguments
from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, literal
from onnxlint.rules.sizes import size_named


@remedy("ONX213", Safety.SAFE)
def take_the_length(site: Site) -> Fix | None:
    """Safe: eager takes no other length with the literal."""
    call = site.at_span(cst.Call)
    size = size_named(site, site.hint("axis"))
    if call is None or size is None:
        return None
    literals = [s.value for s in size_arguments(call) if literal(s.value) == site.number("literal")]
    if len(literals) != 1:
        return None
    return site.fix(f"take the length from the tensor: `{size}`", Safety.SAFE, site.replace(literals[0], size))
