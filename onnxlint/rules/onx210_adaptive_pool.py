"""ONX210 adaptive-pool. Contract: rules/ONX210-adaptive-pool.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeHazard
from onnxlint.rules.engine.rule import Objection, Rule


class AdaptivePool(Rule):
    """Object to pooling to a grid whose window no exporter can write down."""

    code = "ONX210"

    def on_size_hazard(self, node: cst.CSTNode, seen: SizeHazard) -> Iterator[Objection]:
        if seen.hazard != "adaptive":
            return
        if seen.detail:
            message = f"`{seen.op}` divides {seen.detail}, which leaves a rest: TorchScript refuses it"
        else:
            message = f"`{seen.op}` over a dynamic axis: its window is computed from the example's size: `{seen.text}`"
        advice = "pool to one cell, fix the size of the axis, or write the cells as means over slices"
        yield Objection(message, advice, effects=seen.effects)
