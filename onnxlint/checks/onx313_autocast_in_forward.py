"""ONX313 autocast-in-forward. Contract: rules/ONX313-autocast-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX313")
def autocast_in_forward(call: OpCall) -> Iterator[Objection]:
    """Object to autocast that is on inside of the model."""
    if call.hazard == "autocast":
        yield Objection(
            f"`{call.text}` writes the precision of the exporting machine into the graph",
            "put autocast around the call of the model, in the training loop, and export in full precision",
        )
