"""ONX302 functional-dropout. Contract: rules/ONX302-functional-dropout.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class FunctionalDropout(Rule):
    """Object to a dropout that is active in eval mode too."""

    code = "ONX302"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "dropout":
            yield Objection(
                f"`{call.text}` drops in eval mode too: `training` is not tied to the module's mode",
                "pass `training=self.training`, or make an `nn.Dropout` module in `__init__`",
            )
