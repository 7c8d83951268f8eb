"""ONX409 custom-operator. Contract: rules/ONX409-custom-operator.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule


class CustomOperator(Rule):
    """Object to a kernel or an operator of one's own, which no exporter can translate."""

    code = "ONX409"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "custom":
            translated = {"torch.ops.quantized_decomposed": "dynamo", "torch.ops.quantized": "TorchScript"}
            other = translated.get(call.op.rpartition(".")[0])
            yield Objection(
                f"`{call.op}` is a custom operator or kernel: "
                + (f"only the {other} exporter has" if other else "neither exporter has")
                + " a translation for it",
                "keep a plain PyTorch version beside it for the export, or register a translation with the exporter",
                effects=dict.fromkeys(call.refused_by, Outcome.EXPORT_ERROR) if other else None,
            )
