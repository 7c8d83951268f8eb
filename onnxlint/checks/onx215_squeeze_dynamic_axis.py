"""ONX215 squeeze-dynamic-axis. Contract: rules/ONX215-squeeze-dynamic-axis.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX215")
def squeeze_dynamic_axis(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a squeeze that depends on the size of a dynamic axis."""
    if fact.hazard == "squeeze-axis" and fact.certain:  # in an arm that a size chose, the size is known
        yield Objection(
            f"`squeeze({fact.detail})` removes a dynamic axis or keeps it, as its size is one or not: `{fact.text}`",
            "keep the axis, or take the item that is meant: `x[0]`",
            effects=fact.effects,
        )
