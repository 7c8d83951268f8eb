"""ONX307 batch-statistics. Contract: rules/ONX307-batch-statistics.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX307")
def batch_statistics(call: OpCall) -> Iterator[Objection]:
    """Object to a normalisation that uses the statistics of the batch in eval mode."""
    if call.hazard == "batch-norm":
        yield Objection(
            f"`{call.text}` normalises by the statistics of each batch, in eval mode too",
            "pass `training=self.training` with running statistics, or use group or layer norm",
        )
