"""ONX415: a copy in the place of an input that is returned."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site


@remedy("ONX415", Safety.SAFE)
def return_a_copy(site: Site) -> Fix | None:
    """Safe: the same values."""
    node = site.at_span(cst.Name)
    if node is None or site.number("inside"):
        return None  # a name of the tuple that the input is in has no `.clone()`
    copy = f"{node.value}.clone()"
    return site.fix(f"return `{copy}`", Safety.SAFE, site.replace(node, site.expression(copy)))
