"""ONX205 squeeze-all-dims. Contract: rules/ONX205-squeeze-all-dims.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class SqueezeAllDims(Rule):
    """Object to `squeeze()` without a dim on a tensor that has dynamic axes."""

    code = "ONX205"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "squeeze":
            yield Objection(
                "`squeeze()` without a dim also drops a dynamic axis whenever its size is 1",
                "name the axis: `squeeze(-1)`",
            )
