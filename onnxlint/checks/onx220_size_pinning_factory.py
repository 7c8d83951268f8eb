"""ONX220 size-pinning-factory. Contract: rules/ONX220-size-pinning-factory.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX220")
def size_pinning_factory(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a factory function that takes its size for a number."""
    if fact.hazard == "factory":
        yield Objection(
            f"`{fact.op}` has no form for a dynamic size: `{fact.text}`",
            "compute the values from `torch.arange(n)`; a triangle's indices from `torch.ones(n, n).tril().nonzero()`",
            effects=fact.effects,
        )
