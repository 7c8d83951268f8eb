"""ONX207 data-dependent-size. Contract: rules/ONX207-data-dependent-size.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX207")
def data_dependent_size(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a size that is the largest value in a tensor."""
    if fact.hazard == "data-size":
        yield Objection(
            f"without `num_classes` the size of `{fact.op}` is read from the data: `{fact.text}`",
            "give the number of classes: `F.one_hot(x, num_classes=self.classes)`",
            effects=fact.effects,
        )
