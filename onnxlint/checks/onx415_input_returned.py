"""ONX415 input-returned. Contract: rules/ONX415-input-returned.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Output


@check("ONX415")
def input_returned(output: Output) -> Iterator[Objection]:
    """Object to an input among the outputs."""
    if output.what == "input":
        yield Objection(
            f"forward returns its input `{output.name}` as it came: dynamo's file renames the input",
            f"leave `{output.name}` out of the outputs, or return `{output.name}.clone()`",
            hints={"inside": int(output.inside)},
        )
