"""ONX406 inplace-through-view. Contract: rules/ONX406-inplace-through-view.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import ViewWrite
from onnxlint.rules.engine.rule import Objection, Rule


class InplaceThroughView(Rule):
    """Object to an in-place write through a view."""

    code = "ONX406"

    def on_view_write(self, node: cst.CSTNode, write: ViewWrite) -> Iterator[Objection]:
        yield Objection(
            f"`{write.target}` is a view, and the write through it is lost in the TorchScript export",
            "compute the new tensor instead: `torch.where`, `torch.cat`, or `index_put` on a clone",
        )
