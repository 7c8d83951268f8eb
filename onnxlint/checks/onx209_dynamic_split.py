"""ONX209 dynamic-split. Contract: rules/ONX209-dynamic-split.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX209")
def dynamic_split(fact: SizeHazard) -> Iterator[Objection]:
    """Object to pieces whose number or length follows a dynamic size."""
    if fact.hazard == "split":
        yield Objection(
            f"`{fact.op}` cuts a dynamic axis: number and length of the pieces are the example's: `{fact.text}`",
            "reshape to a new axis and work on all pieces at once; for two halves take two slices",
            effects=fact.effects,
        )
