"""ONX309 bypassed-hooks. Contract: rules/ONX309-bypassed-hooks.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class BypassedHooks(Rule):
    """Object to `layer.forward(x)` on a layer whose weight a hook computes."""

    code = "ONX309"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "bypassed-hooks":
            yield Objection(
                f"`{call.text}` goes past the hook that computes the layer's weight: the weight is a stale constant",
                "call the module itself: `layer(x)`",
            )
