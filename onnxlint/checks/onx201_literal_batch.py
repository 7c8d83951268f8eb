"""ONX201 literal-batch. Contract: rules/ONX201-literal-batch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ShapeLiteral


@check("ONX201")
def literal_batch(shape: ShapeLiteral) -> Iterator[Objection]:
    """Object to a literal size where a dynamic axis should be followed."""
    if shape.call in ("fixed state", "literal length"):
        return
    message = f"`{shape.call}` has the literal {shape.literal} where the dynamic axis `{shape.axis}` belongs"
    advice = f"take that size from the tensor: `x.{shape.call}(x.shape[0], ...)`, or start with `flatten(1)`"
    yield Objection(message, advice, hints=literal_hints(shape))


def literal_hints(shape: ShapeLiteral) -> dict[str, str | int]:
    """Which literal it is, and of which axis it takes the place."""
    return {"call": shape.call, "literal": shape.literal, "axis": shape.axis, "position": shape.position}
