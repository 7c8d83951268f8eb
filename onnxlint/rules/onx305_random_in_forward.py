"""ONX305 random-in-forward. Contract: rules/ONX305-random-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class RandomInForward(Rule):
    """Object to a random draw in what is exported."""

    code = "ONX305"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.random:
            source = (
                "Python's or numpy's generator, once, while it is traced"
                if call.hazard == "python-random"
                else "a generator"
            )
            yield Objection(
                f"`{call.text}` draws from {source}; the graph cannot give eager's numbers",
                "pass the noise in as an input, or draw only under `if self.training:`",
            )
