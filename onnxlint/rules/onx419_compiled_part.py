"""ONX419 compiled-part. Contract: rules/ONX419-compiled-part.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class CompiledPart(Rule):
    """Object to a part of the model that is scripted, traced or compiled by itself."""

    code = "ONX419"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "compiled":
            yield Objection(
                f"`{call.op}` compiles a part of the model by itself: the TorchScript exporter cannot trace through it",
                "compile the finished model where it is used, and export the plain one",
            )
