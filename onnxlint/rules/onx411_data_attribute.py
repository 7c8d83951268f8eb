"""ONX411 data-attribute. Contract: rules/ONX411-data-attribute.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule


class DataAttribute(Rule):
    """Object to `.data`, which takes a tensor out of the trace."""

    code = "ONX411"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "data":
            weight = call.detail == "weight"
            yield Objection(
                f"`{call.text}` takes the tensor out of the trace"
                + ("" if weight else ": the graph keeps the example's values as a constant"),
                "write `.detach()` to read it; what forward writes belongs in its outputs"
                if weight
                else "write `.detach()`",
                effects={"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR} if weight else None,
            )
