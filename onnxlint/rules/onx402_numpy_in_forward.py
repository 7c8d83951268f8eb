"""ONX402 numpy-in-forward. Contract: rules/ONX402-numpy-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Escape
from onnxlint.rules.rule import Objection, Rule


class NumpyInForward(Rule):
    """Object to numpy on tensor data in what is exported."""

    code = "ONX402"

    def on_escape(self, node: cst.CSTNode, escape: Escape) -> Iterator[Objection]:
        if escape.numpy:
            yield Objection(
                f"`{escape.text}` leaves torch for numpy: what comes back is a constant of the graph",
                "use the torch operator of the same name",
            )
