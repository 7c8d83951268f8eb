"""ONX105 data-loop-bound. Contract: rules/ONX105-data-loop-bound.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import Loop
from onnxlint.rules.engine.rule import Objection, Rule


class DataLoopBound(Rule):
    """Object to a loop whose count is read out of a tensor."""

    code = "ONX105"

    def on_loop(self, node: cst.CSTNode, loop: Loop) -> Iterator[Objection]:
        if loop.over == "data":
            yield Objection(
                f"tensor data says how often the loop runs: `{self.source(node)}`",
                "run a fixed number of steps and mask the ones past the count, or keep the loop outside the model",
            )
