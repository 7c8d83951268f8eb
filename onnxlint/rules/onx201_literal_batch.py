"""ONX201 literal-batch. Contract: rules/ONX201-literal-batch.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ShapeLiteral
from onnxlint.rules.rule import Objection, Rule


class LiteralBatch(Rule):
    """Object to a literal size where a dynamic axis should be followed."""

    code = "ONX201"

    def on_shape_literal(self, node: cst.CSTNode, shape: ShapeLiteral) -> Iterator[Objection]:
        if shape.call in ("fixed state", "literal length"):
            return
        message = f"`{shape.call}` has the literal {shape.literal} where the dynamic axis `{shape.axis}` belongs"
        advice = f"take that size from the tensor: `x.{shape.call}(x.shape[0], ...)`, or start with `flatten(1)`"
        yield Objection(message, advice, hints=literal_hints(shape))


def literal_hints(shape: ShapeLiteral) -> dict[str, str | int]:
    """Which literal it is, and of which axis it takes the place."""
    return {"call": shape.call, "literal": shape.literal, "axis": shape.axis, "position": shape.position}
