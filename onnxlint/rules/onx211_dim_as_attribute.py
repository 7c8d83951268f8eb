"""ONX211 dim-as-attribute. Contract: rules/ONX211-dim-as-attribute.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class DimAsAttribute(Rule):
    """Object to a size where an ONNX operator has a constant."""

    code = "ONX211"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "attribute":
            yield Objection(
                f"`{fact.detail}` of `{fact.op}` is a dynamic size, and a constant in the file: `{fact.text}`",
                "write the operator without it: a pooling over everything is `x.mean((-2, -1))` or `amax`",
                effects=fact.effects,
            )
