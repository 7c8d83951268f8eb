"""ONX205 squeeze-all-dims. Contract: rules/ONX205-squeeze-all-dims.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX205")
def squeeze_all_dims(call: OpCall) -> Iterator[Objection]:
    """Object to `squeeze()` without a dim on a tensor that has dynamic axes."""
    if call.hazard == "squeeze":
        yield Objection(
            "`squeeze()` without a dim also drops a dynamic axis whenever its size is 1",
            "name the axis: `squeeze(-1)`",
        )
