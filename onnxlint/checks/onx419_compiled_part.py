"""ONX419 compiled-part. Contract: rules/ONX419-compiled-part.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX419")
def compiled_part(call: OpCall) -> Iterator[Objection]:
    """Object to a part of the model that is scripted, traced or compiled by itself."""
    if call.hazard == "compiled":
        yield Objection(
            f"`{call.op}` compiles a part of the model by itself: the TorchScript exporter cannot trace through it",
            "compile the finished model where it is used, and export the plain one",
        )
