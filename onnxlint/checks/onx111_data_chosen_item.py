"""ONX111 data-chosen-item. Contract: rules/ONX111-data-chosen-item.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX111")
def data_chosen_item(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a Python container whose item tensor data chooses."""
    if fact.hazard == "item":
        yield Objection(
            f"the value of a tensor chooses an item of a Python container: `{fact.text}`; the example's is kept",
            "keep the items in one tensor and index that; of modules compute all, and select by `index_select`",
            effects=fact.effects,
        )
