"""ONX408 operator-lowered-wrong. Contract: rules/ONX408-operator-lowered-wrong.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule

WHO = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}
_RESULTS = {
    "wrong": ("something that computes other values", Outcome.WRONG_VALUES),
    "unloadable": ("something that ONNX Runtime does not load", Outcome.RUNTIME_ERROR),
}


class OperatorLoweredWrong(Rule):
    """Object to an operator that an exporter translates to something else."""

    code = "ONX408"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard not in _RESULTS:
            return
        who = " and ".join(WHO[e] for e in call.refused_by)
        how = f" {call.detail}" if call.detail[:3] == "of " else f" with `{call.detail}`" if call.detail else ""
        result, outcome = _RESULTS[call.hazard]
        yield Objection(
            f"{who} translates `{call.op}`{how} to {result}",
            "say it with other operators (see the rule), and compare the file with PyTorch",
            effects=dict.fromkeys(call.refused_by, outcome),
        )
