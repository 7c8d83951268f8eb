"""ONX301 export-without-eval. Contract: rules/ONX301-export-without-eval.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX301")
def export_without_eval(call: ExportCall) -> Iterator[Objection]:
    """Object to the export of a model that nobody put in eval mode."""
    if call.mode != "train" or not call.mode_matters:
        return
    if call.training is None and call.api != "torch.export.export":
        yield Objection(
            f"`{call.model}` is exported without `eval()`: dropout and batch norm stay in training mode",
            "call `model.eval()` before the export",
        )
