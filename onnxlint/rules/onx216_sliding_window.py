"""ONX216 sliding-window. Contract: rules/ONX216-sliding-window.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeHazard
from onnxlint.rules.engine.rule import Objection, Rule


class SlidingWindow(Rule):
    """Object to windows whose number follows a dynamic size."""

    code = "ONX216"

    def on_size_hazard(self, node: cst.CSTNode, seen: SizeHazard) -> Iterator[Objection]:
        if seen.hazard == "window":
            yield Objection(
                f"`{seen.op}` over a dynamic axis: TorchScript has to know how many windows there are: `{seen.text}`",
                "gather by an index of `starts[:, None] + torch.arange(size)`, or export with dynamo",
                effects=seen.effects,
            )
