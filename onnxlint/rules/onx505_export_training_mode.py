"""ONX505 export-training-mode. Contract: rules/ONX505-export-training-mode.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import leave_out
from onnxlint.rules.rule import Objection, Rule
from onnxlint.rules.site import Site


class ExportTrainingMode(Rule):
    """Object to an export in training mode."""

    code = "ONX505"
    safety = Safety.UNSAFE
    changes_output = True

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.training in ("TRAINING", "TrainingMode.TRAINING"):
            yield Objection(
                "the export asks for training mode: dropout and batch statistics stay in the graph",
                "leave `training` at its default, and put the model in eval mode",
                span=call.argument_spans.get("training"),
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the file holds the model in eval mode then, which is the point."""
        return leave_out(site, Safety.UNSAFE)
