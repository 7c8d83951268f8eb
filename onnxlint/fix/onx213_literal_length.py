"""ONX213: the length of the input in the place of a literal."""

from __future__ import annotations

import ast

from onnxlint.fix.onx201_literal_batch import argument_list
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal, size_named
from onnxlint.records import Fix, Safety


@remedy("ONX213", Safety.SAFE)
def take_the_length(site: Site) -> Fix | None:
    """Safe: eager takes no other length with the literal."""
    call = site.at_span(ast.Call)
    size = size_named(site, site.hint("axis"))
    if call is None or size is None:
        return None
    found = [a for a in argument_list(call) if literal(a) == site.number("literal")]
    if len(found) != 1:
        return None
    return site.fix(f"take the length from the tensor: `{size}`", Safety.SAFE, site.replace(found[0], size))
