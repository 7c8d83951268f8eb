"""ONX307 batch-statistics. Contract: rules/ONX307-batch-statistics.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class BatchStatistics(Rule):
    """Object to a normalisation that uses the statistics of the batch in eval mode."""

    code = "ONX307"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "batch-norm":
            yield Objection(
                f"`{call.text}` normalises by the statistics of each batch, in eval mode too",
                "pass `training=self.training` with running statistics, or use group or layer norm",
            )
