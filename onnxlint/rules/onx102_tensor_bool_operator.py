"""ONX102 tensor-bool-operator. Contract: rules/ONX102-tensor-bool-operator.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import BoolOperator
from onnxlint.rules.rule import Objection, Rule


class TensorBoolOperator(Rule):
    """Object to an operator that asks a tensor for its truth."""

    code = "ONX102"

    def on_bool_operator(self, node: cst.CSTNode, operator: BoolOperator) -> Iterator[Objection]:
        if not operator.operands:
            yield Objection(
                f"`{operator.operator}` turns a tensor into one Python bool: `{operator.text}`",
                "use `&`, `|`, `~` or `torch.isin`, which stay in the graph",
            )
