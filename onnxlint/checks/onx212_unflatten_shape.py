"""ONX212 unflatten-shape. Contract: rules/ONX212-unflatten-shape.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Escape
from onnxlint.records import Outcome


@check("ONX212")
def unflatten_shape(escape: Escape) -> Iterator[Objection]:
    """Object to a size read after `unflatten`, which TorchScript's trace takes for a number."""
    if escape.source == "dim" and escape.how == "a size after unflatten":
        yield Objection(
            f"a size read after `unflatten` is the example's number in TorchScript's trace: `{escape.text}`",
            "read the sizes before `unflatten`, or write `view(..., -1, ...)` instead of it",
            effects={"torchscript": Outcome.SHAPE_ERROR},
        )
