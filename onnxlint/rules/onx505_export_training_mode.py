"""ONX505 export-training-mode. Contract: rules/ONX505-export-training-mode.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class ExportTrainingMode(Rule):
    """Object to an export in training mode."""

    code = "ONX505"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.training in ("TRAINING", "TrainingMode.TRAINING"):
            yield Objection(
                "the export asks for training mode: dropout and batch statistics stay in the graph",
                "leave `training` at its default, and put the model in eval mode",
                span=call.argument_spans.get("training"),
            )
