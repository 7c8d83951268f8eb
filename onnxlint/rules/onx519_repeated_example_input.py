"""ONX519 repeated-example-input. Contract: rules/ONX519-repeated-example-input.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class RepeatedExampleInput(Rule):
    """Object to one tensor given for two inputs."""

    code = "ONX519"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        for example in call.examples or ():
            if example.again:
                name = f"`{example.parameter}`" if example.parameter is not None else "an input"
                yield Objection(
                    f"{name} is an earlier input's tensor once more: torch.export takes the two for one",
                    "make a tensor of its own for every input: `.clone()` is enough",
                    span=example.span,
                )
