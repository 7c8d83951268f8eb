"""ONX414 input-reshaped. Contract: rules/ONX414-input-reshaped.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class InputReshaped(Rule):
    """Object to an in-place change of an input's shape."""

    code = "ONX414"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "input-reshaped":
            yield Objection(
                f"`{call.text}` changes the shape of the input `{call.detail}` itself: the file asks for another shape",
                "use the function without the underscore and go on with what it returns",
            )
