"""ONX210 adaptive-pool. Contract: rules/ONX210-adaptive-pool.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class AdaptivePool(Rule):
    """Object to pooling to a grid whose window no exporter can write down."""

    code = "ONX210"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard != "adaptive":
            return
        if fact.detail:
            message = f"`{fact.op}` divides {fact.detail}, which leaves a rest: TorchScript refuses it"
        else:
            message = f"`{fact.op}` over a dynamic axis: its window is computed from the example's size: `{fact.text}`"
        advice = "pool to one cell, fix the size of the axis, or write the cells as means over slices"
        yield Objection(message, advice, effects=fact.effects)
