"""ONX505 export-training-mode. Contract: rules/ONX505-export-training-mode.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX505")
def export_training_mode(call: ExportCall) -> Iterator[Objection]:
    """Object to an export in training mode."""
    if call.training in ("TRAINING", "TrainingMode.TRAINING"):
        yield Objection(
            "the export asks for training mode: dropout and batch statistics stay in the graph",
            "leave `training` at its default, and put the model in eval mode",
            span=call.argument_spans.get("training"),
        )
