"""ONX519 repeated-example-input. Contract: rules/ONX519-repeated-example-input.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX519")
def repeated_example_input(call: ExportCall) -> Iterator[Objection]:
    """Object to one tensor given for two inputs."""
    for example in call.examples or ():
        if example.again:
            name = f"`{example.parameter}`" if example.parameter is not None else "an input"
            yield Objection(
                f"{name} is an earlier input's tensor once more: torch.export takes the two for one",
                "make a tensor of its own for every input: `.clone()` is enough",
                span=example.span,
            )
