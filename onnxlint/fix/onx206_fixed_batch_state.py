"""ONX206: the batch of the input in the place of a literal."""

from __future__ import annotations

from onnxlint.fix.onx201_literal_batch import take_the_size
from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site


@remedy("ONX206", Safety.SAFE)
def take_the_batch(site: Site) -> Fix | None:
    """Safe: eager takes no other batch with the literal."""
    return take_the_size(site)
