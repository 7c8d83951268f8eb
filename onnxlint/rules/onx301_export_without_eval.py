"""ONX301 export-without-eval. Contract: rules/ONX301-export-without-eval.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class ExportWithoutEval(Rule):
    """Object to the export of a model that nobody put in eval mode."""

    code = "ONX301"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.mode != "train" or not call.mode_matters:
            return
        if call.training is None and call.api != "torch.export.export":
            yield Objection(
                f"`{call.model}` is exported without `eval()`: dropout and batch norm stay in training mode",
                "call `model.eval()` before the export",
            )
