"""ONX211 dim-as-attribute. Contract: rules/ONX211-dim-as-attribute.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX211")
def dim_as_attribute(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a size where an ONNX operator has a constant."""
    if fact.hazard == "attribute":
        yield Objection(
            f"`{fact.detail}` of `{fact.op}` is a dynamic size, and a constant in the file: `{fact.text}`",
            "write the operator without it: a pooling over everything is `x.mean((-2, -1))` or `amax`",
            effects=fact.effects,
        )
