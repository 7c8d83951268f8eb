"""ONX312 gradient-in-forward. Contract: rules/ONX312-gradient-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX312")
def gradient_in_forward(call: OpCall) -> Iterator[Objection]:
    """Object to autograd in what is exported."""
    if call.hazard == "gradient":
        yield Objection(
            f"`{call.text}` takes a gradient in forward, which no graph holds",
            "write the derivative out, or export what it is taken of and differentiate outside",
        )
