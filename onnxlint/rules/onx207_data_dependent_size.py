"""ONX207 data-dependent-size. Contract: rules/ONX207-data-dependent-size.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class DataDependentSize(Rule):
    """Object to a size that is the largest value in a tensor."""

    code = "ONX207"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "data-size":
            yield Objection(
                f"without `num_classes` the size of `{fact.op}` is read from the data: `{fact.text}`",
                "give the number of classes: `F.one_hot(x, num_classes=self.classes)`",
                effects=fact.effects,
            )
