"""ONX414 input-reshaped. Contract: rules/ONX414-input-reshaped.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX414")
def input_reshaped(call: OpCall) -> Iterator[Objection]:
    """Object to an in-place change of an input's shape."""
    if call.hazard == "input-reshaped":
        yield Objection(
            f"`{call.text}` changes the shape of the input `{call.detail}` itself: the file asks for another shape",
            "use the function without the underscore and go on with what it returns",
        )
