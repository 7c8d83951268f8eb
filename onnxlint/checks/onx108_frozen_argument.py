"""ONX108 frozen-argument. Contract: rules/ONX108-frozen-argument.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import FrozenArgument


@check("ONX108")
def frozen_argument(argument: FrozenArgument) -> Iterator[Objection]:
    """Object to a Python number or bool among the example's inputs."""
    yield Objection(
        f"the example passes the Python value {argument.value} for `{argument.parameter}`; the export freezes it",
        f"make `{argument.parameter}` a constructor argument, or pass a tensor and choose with `torch.where`",
    )
