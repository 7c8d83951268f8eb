"""ONX511 weights-loaded-after-export. Contract: rules/ONX511-weights-loaded-after-export.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX511")
def weights_loaded_after_export(call: ExportCall) -> Iterator[Objection]:
    """Object to weights that the model gets when the file is already written."""
    for span, what in call.later_loads:
        yield Objection(
            f"`{what}` gives the model weights after its export in line {call.span.line}: the file has the old ones",
            "load the weights first, then export",
            span=span,
        )
