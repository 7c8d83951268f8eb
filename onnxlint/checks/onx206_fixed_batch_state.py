"""ONX206 fixed-batch-state. Contract: rules/ONX206-fixed-batch-state.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.onx201_literal_batch import literal_hints
from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ShapeLiteral


@check("ONX206")
def fixed_batch_state(shape: ShapeLiteral) -> Iterator[Objection]:
    """Object to a state that is made with the batch of the example."""
    if shape.call == "fixed state":
        yield Objection(
            f"the state has the literal size {shape.literal} on the dynamic axis `{shape.axis}`: `{shape.text}`",
            "take the size from the input: `x.shape[0]` or `x.new_zeros(..., x.shape[0], ...)`",
            hints=literal_hints(shape),
        )
