"""ONX219 repetition-by-dim. Contract: rules/ONX219-repetition-by-dim.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX219")
def repetition_by_dim(fact: SizeHazard) -> Iterator[Objection]:
    """Object to something repeated as often as a size says, where the count has to be a number."""
    if fact.hazard == "repetition":
        yield Objection(
            f"repeated by a dynamic size, which has to be a number for that: `{fact.text}`",
            "repeat the tensor: `x.repeat(1, n)`, `x.expand(n, -1)`, `torch.full((n,), value)`",
            effects=fact.effects,
        )
