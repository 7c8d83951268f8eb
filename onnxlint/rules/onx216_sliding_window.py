"""ONX216 sliding-window. Contract: rules/ONX216-sliding-window.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class SlidingWindow(Rule):
    """Object to windows whose number follows a dynamic size."""

    code = "ONX216"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "window":
            yield Objection(
                f"`{fact.op}` over a dynamic axis: TorchScript has to know how many windows there are: `{fact.text}`",
                "gather by an index of `starts[:, None] + torch.arange(size)`, or export with dynamo",
                effects=fact.effects,
            )
