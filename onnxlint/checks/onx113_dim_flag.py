"""ONX113 dim-flag. Contract: rules/ONX113-dim-flag.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX113")
def dim_flag(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a comparison of sizes that an operator takes for a Python bool."""
    if fact.hazard == "flag":
        yield Objection(
            f"`{fact.detail}` of `{fact.op}` is a comparison of a dynamic size, and not a bool during an export",
            "take the flag from the constructor, or write the choice as a mask made with `torch.arange`",
            effects=fact.effects,
        )
