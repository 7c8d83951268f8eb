"""ONX209 dynamic-split. Contract: rules/ONX209-dynamic-split.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class DynamicSplit(Rule):
    """Object to pieces whose number or length follows a dynamic size."""

    code = "ONX209"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "split":
            yield Objection(
                f"`{fact.op}` cuts a dynamic axis: number and length of the pieces are the example's: `{fact.text}`",
                "reshape to a new axis and work on all pieces at once; for two halves take two slices",
                effects=fact.effects,
            )
