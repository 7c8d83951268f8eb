"""ONX404 unsupported-operator. Contract: rules/ONX404-unsupported-operator.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule


class UnsupportedOperator(Rule):
    """Object to an operator that an exporter cannot lower at the target opset."""

    code = "ONX404"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "unsupported":
            names = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}
            who = " and ".join(names[e] for e in call.refused_by)
            detail = f" with `{call.detail}`" if call.detail else ""
            yield Objection(
                f"{who} cannot lower `{call.op}`{detail}",
                "write it with operators that lower (see the rule), or use the other exporter where it lowers there",
                effects=dict.fromkeys(call.refused_by, Outcome.EXPORT_ERROR),
            )
