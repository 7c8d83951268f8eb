"""ONX302 functional-dropout. Contract: rules/ONX302-functional-dropout.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX302")
def functional_dropout(call: OpCall) -> Iterator[Objection]:
    """Object to a dropout that is active in eval mode too."""
    if call.hazard == "dropout":
        yield Objection(
            f"`{call.text}` drops in eval mode too: `training` is not tied to the module's mode",
            "pass `training=self.training`, or make an `nn.Dropout` module in `__init__`",
        )
