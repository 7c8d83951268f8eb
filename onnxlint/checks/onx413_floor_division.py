"""ONX413 floor-division. Contract: rules/ONX413-floor-division.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX413")
def floor_division(call: OpCall) -> Iterator[Objection]:
    """Object to a quotient that may be negative, which TorchScript rounds to zero."""
    if call.hazard == "floor-division":
        yield Objection(
            f"`{call.text}` rounds down in PyTorch, and to zero in the TorchScript export where it is negative",
            'write `torch.div(a, b, rounding_mode="floor")`',
        )
