"""ONX412 math-on-tensor. Contract: rules/ONX412-math-on-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Escape
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule


class MathOnTensor(Rule):
    """Object to a function of `math` that reads a tensor."""

    code = "ONX412"

    def on_escape(self, node: cst.CSTNode, escape: Escape) -> Iterator[Objection]:
        if escape.source == "data" and escape.how.startswith("math."):
            name = escape.how.removesuffix("()")
            yield Objection(
                f"`{escape.text}` reads the tensor into Python: the graph keeps the number of the example",
                f"use `{name.replace('math.', 'torch.')}`, which stays in the graph",
                effects={"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR} if escape.weight else None,
            )
