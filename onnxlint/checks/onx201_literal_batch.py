"""ONX201 literal-batch. Contract: rules/ONX201-literal-batch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ShapeLiteral


@check("ONX201")
def literal_batch(shape: ShapeLiteral) -> Iterator[Objection]:
    """Object to a literal size where a dynamic axis should be followed."""
    if shape.call == "fixed state":
        message = (
            f"a tensor is made with the literal size {shape.literal} on the dynamic axis `{shape.axis}`: `{shape.text}`"
        )
        advice = "take the size from the input: `x.shape[0]` or `x.new_zeros(..., x.shape[0], ...)`"
    else:
        message = (
            f"`{shape.call}` has the literal {shape.literal} where the size of the dynamic axis `{shape.axis}` belongs"
        )
        advice = f"take that size from the tensor: `x.{shape.call}(x.shape[0], ...)`, or start with `flatten(1)`"
    yield Objection(message, advice)
