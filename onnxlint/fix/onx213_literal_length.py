"""ONX213: the length of the input in the place of a literal."""

from __future__ import annotations

from onnxlint.fix.onx201_literal_batch import take_the_size
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX213", Safety.SAFE)
def take_the_length(site: Site) -> Fix | None:
    """Safe where eager takes no other length with the literal."""
    return take_the_size(site)
