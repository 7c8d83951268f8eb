"""ONX503 dynamic-axes-with-dynamo. Contract: rules/ONX503-dynamic-axes-with-dynamo.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class DynamicAxesWithDynamo(Rule):
    """Object to `dynamic_axes` given to the dynamo exporter."""

    code = "ONX503"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.dynamo and call.has_dynamic_axes and "dynamic_axes" in call.argument_spans:
            yield Objection(
                "`dynamic_axes` belongs to the TorchScript exporter; this call uses dynamo (the default since"
                " torch 2.9)",
                "pass `dynamic_shapes={...}` with the names of forward's parameters, or `dynamo=False`",
                span=call.argument_spans["dynamic_axes"],
            )
