"""ONX220 size-pinning-factory. Contract: rules/ONX220-size-pinning-factory.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class SizePinningFactory(Rule):
    """Object to a factory function that takes its size for a number."""

    code = "ONX220"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "factory":
            yield Objection(
                f"`{fact.op}` has no form for a dynamic size: `{fact.text}`",
                "compute the values from `torch.arange(n)`; a triangle's indices from `torch.ones(n,"
                " n).tril().nonzero()`",
                effects=fact.effects,
            )
