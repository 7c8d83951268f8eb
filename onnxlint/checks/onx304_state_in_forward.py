"""ONX304 state-in-forward. Contract: rules/ONX304-state-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import StateWrite
from onnxlint.records import Severity


@check("ONX304")
def state_in_forward(write: StateWrite) -> Iterator[Objection]:
    """Object to a buffer, counter, attribute or container of the module that forward writes and reads again."""
    if write.kind in ("cache", "global", "class") or not write.read_back:
        return
    yield Objection(
        f"forward writes `self.{write.name}`: an ONNX graph keeps no state from one run to the next",
        "pass the state in as an input and return the new one as an output",
        severity=Severity.NOTE if write.kind == "attribute" else None,
    )
