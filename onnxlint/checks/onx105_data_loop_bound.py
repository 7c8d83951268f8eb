"""ONX105 data-loop-bound. Contract: rules/ONX105-data-loop-bound.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Loop


@check("ONX105")
def data_loop_bound(loop: Loop) -> Iterator[Objection]:
    """Object to a loop whose count is read out of a tensor."""
    if loop.over == "data":
        yield Objection(
            f"tensor data says how often the loop runs: `{loop.text}`",
            "run a fixed number of steps and mask the ones past the count, or keep the loop outside the model",
        )
