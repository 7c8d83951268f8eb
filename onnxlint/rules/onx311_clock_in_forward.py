"""ONX311 clock-in-forward. Contract: rules/ONX311-clock-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule


class ClockInForward(Rule):
    """Object to the time of day in tensor arithmetic."""

    code = "ONX311"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "clock":
            yield Objection(
                f"`{call.text}` reads the clock, and the graph keeps the moment of the export",
                "pass the time in as an input",
            )
