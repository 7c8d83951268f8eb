"""ONX216 sliding-window. Contract: rules/ONX216-sliding-window.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import WindowSize
from onnxlint.rules.engine.rule import Objection, Rule


class SlidingWindow(Rule):
    """Object to windows whose number follows a dynamic size."""

    code = "ONX216"

    def on_window_size(self, node: cst.CSTNode, seen: WindowSize) -> Iterator[Objection]:
        yield Objection(
            f"`{seen.op}` over a dynamic axis: TorchScript has to know how many windows there are: `{seen.text}`",
            "gather by an index of `starts[:, None] + torch.arange(size)`, or export with dynamo",
        )
