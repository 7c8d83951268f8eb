"""ONX413 floor-division. Contract: rules/ONX413-floor-division.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class FloorDivision(Rule):
    """Object to a quotient that may be negative, which TorchScript rounds to zero."""

    code = "ONX413"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "floor-division":
            yield Objection(
                f"`{call.text}` rounds down in PyTorch, and to zero in the TorchScript export where it is negative",
                'write `torch.div(a, b, rounding_mode="floor")`',
            )
