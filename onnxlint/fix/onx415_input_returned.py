"""ONX415: a copy in the place of an input that is returned."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX415", Safety.SAFE)
def return_a_copy(site: Site) -> Fix | None:
    """Safe: the same values."""
    node = site.at_span(ast.Name)
    if node is None or site.number("inside"):
        return None  # a name of the tuple that the input is in has no `.clone()`
    end = site.page.range(node)[1]
    return site.fix(f"return `{node.id}.clone()`", Safety.SAFE, site.splice(end, end, ".clone()"))
