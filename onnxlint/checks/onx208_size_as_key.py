"""ONX208 size-as-key. Contract: rules/ONX208-size-as-key.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX208")
def size_as_key(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a Python container that is asked for the item of a size."""
    if fact.hazard == "key":
        yield Objection(
            f"a dynamic size looks up a Python container: `{fact.text}`; in an export it is no such key",
            "keep the items in a tensor and index that, or compute the value from the size each time",
            effects=fact.effects,
        )
