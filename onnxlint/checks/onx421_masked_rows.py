"""ONX421 masked-rows. Contract: rules/ONX421-masked-rows.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX421")
def masked_rows(call: OpCall) -> Iterator[Objection]:
    """Object to a boolean mask from the inputs in fused attention."""
    if call.hazard == "masked-rows":
        yield Objection(
            "the mask comes from the inputs: for a row that it hides as a whole, dynamo's file gives other values",
            "let rows without any key see all keys and set their result to zero (`mask | empty`)",
        )
