"""ONX514 parallel-wrapper. Contract: rules/ONX514-parallel-wrapper.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class ParallelWrapper(Rule):
    """Object to the export of a model inside of DataParallel."""

    code = "ONX514"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.wrapping == "parallel":
            yield Objection(
                "the model is wrapped for several devices: TorchScript refuses it, and dynamo sees `*inputs` only",
                "export `model.module`",
                span=call.argument_spans.get("model"),
            )
