"""ONX213 literal-length. Contract: rules/ONX213-literal-length.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ShapeLiteral
from onnxlint.rules.onx201_literal_batch import literal_hints
from onnxlint.rules.rule import Objection, Rule


class LiteralLength(Rule):
    """Object to a range or table of the example's length on an axis that was declared dynamic."""

    code = "ONX213"

    def on_shape_literal(self, node: cst.CSTNode, shape: ShapeLiteral) -> Iterator[Objection]:
        if shape.call == "literal length":
            yield Objection(
                f"a tensor has the example's length {shape.literal} on the dynamic axis `{shape.axis}`: `{shape.text}`",
                "take the number from the tensor: `torch.arange(x.shape[1], device=x.device)`",
                hints=literal_hints(shape),
            )
