"""ONX421 masked-rows. Contract: rules/ONX421-masked-rows.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule


class MaskedRows(Rule):
    """Object to a boolean mask from the inputs in fused attention."""

    code = "ONX421"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "masked-rows":
            yield Objection(
                "the mask comes from the inputs: for a row that it hides as a whole, dynamo's file gives other values",
                "let rows without any key see all keys and set their result to zero (`mask | empty`)",
            )
