"""ONX311 clock-in-forward. Contract: rules/ONX311-clock-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX311")
def clock_in_forward(call: OpCall) -> Iterator[Objection]:
    """Object to the time of day in tensor arithmetic."""
    if call.hazard == "clock":
        yield Objection(
            f"`{call.text}` reads the clock, and the graph keeps the moment of the export",
            "pass the time in as an input",
        )
