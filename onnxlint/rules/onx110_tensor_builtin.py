"""ONX110 tensor-builtin. Contract: rules/ONX110-tensor-builtin.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import BoolOperator
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule

BUILTINS = {
    "min()": "torch.minimum(a, b)` or `torch.stack(parts).amin(0)",
    "max()": "torch.maximum(a, b)` or `torch.stack(parts).amax(0)",
    "sorted()": "torch.sort(torch.stack(parts))",
    "any()": "torch.stack(parts).any()",
}


class TensorBuiltin(Rule):
    """Object to a builtin that compares tensors, or asks them for their truth."""

    code = "ONX110"

    def on_bool_operator(self, node: cst.CSTNode, operator: BoolOperator) -> Iterator[Objection]:
        if operator.operator in BUILTINS:
            pair = operator.operands == 2  # dynamo has an operator for the smaller and the larger of two numbers
            yield Objection(
                f"Python's `{operator.operator}` compares tensors: `{operator.text}`; the example's answer is frozen",
                f"use the tensor operator: `{BUILTINS[operator.operator]}`; a choice by a key is `torch.where`",
                effects={"torchscript": Outcome.WRONG_VALUES} if pair else None,
            )
