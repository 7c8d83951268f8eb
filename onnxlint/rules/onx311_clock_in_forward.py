"""ONX311 clock-in-forward. Contract: rules/ONX311-clock-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import ClockRead
from onnxlint.rules.engine.rule import Objection, Rule


class ClockInForward(Rule):
    """Object to the time of day in tensor arithmetic."""

    code = "ONX311"

    def on_clock_read(self, node: cst.CSTNode, read: ClockRead) -> Iterator[Objection]:
        yield Objection(
            f"`{read.text}` reads the clock, and the graph keeps the moment of the export",
            "pass the time in as an input",
        )
