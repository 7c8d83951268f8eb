"""ONX108 frozen-argument. Contract: rules/ONX108-frozen-argument.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state import observations
from onnxlint.rules.engine.rule import Objection, Rule


class FrozenArgument(Rule):
    """Object to a Python number or bool among the example's inputs."""

    code = "ONX108"

    def on_frozen_argument(self, node: cst.CSTNode, argument: observations.FrozenArgument) -> Iterator[Objection]:
        number = argument.value[0] in "-.0123456789"
        frozen = "dynamo freezes it, TorchScript what Python decides by it" if number else "the export freezes it"
        yield Objection(
            f"the example passes the Python value {argument.value} for `{argument.name}`; {frozen}",
            f"make `{argument.name}` a constructor argument, or pass a tensor and choose with `torch.where`",
        )
