"""ONX501 export-without-dynamic-axes. Contract: rules/ONX501-export-without-dynamic-axes.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class ExportWithoutDynamicAxes(Rule):
    """Object to an export that fixes every size to the example's."""

    code = "ONX501"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.model.startswith("torch.export") or call.api not in ("torch.onnx.export", "torch.onnx.utils.export"):
            return  # an exported program brings its own dynamic shapes, and may be meant for another backend
        if call.tensor_inputs and not call.has_dynamic_axes and not call.has_dynamic_shapes:
            argument = "dynamic_axes" if call.dynamo is False else "dynamic_shapes"
            yield Objection(
                "the export names no dynamic axes: the file takes the example's sizes only, batch included",
                f"name what varies: `{argument}={{...}}`",
            )
