"""ONX415 input-returned. Contract: rules/ONX415-input-returned.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Output
from onnxlint.rules.rule import Objection, Rule


class InputReturned(Rule):
    """Object to an input among the outputs."""

    code = "ONX415"

    def on_output(self, node: cst.CSTNode, output: Output) -> Iterator[Objection]:
        if output.what == "input":
            yield Objection(
                f"forward returns its input `{output.name}` as it came: dynamo's file renames the input",
                f"leave `{output.name}` out of the outputs, or return `{output.name}.clone()`",
                hints={"inside": int(output.inside)},
            )
