"""ONX213 literal-length. Contract: rules/ONX213-literal-length.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.onx201_literal_batch import literal_hints
from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ShapeLiteral


@check("ONX213")
def literal_length(shape: ShapeLiteral) -> Iterator[Objection]:
    """Object to a range or table of the example's length on an axis that was declared dynamic."""
    if shape.call == "literal length":
        yield Objection(
            f"a tensor has the example's length {shape.literal} on the dynamic axis `{shape.axis}`: `{shape.text}`",
            "take the number from the tensor: `torch.arange(x.shape[1], device=x.device)`",
            hints=literal_hints(shape),
        )
