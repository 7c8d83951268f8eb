"""ONX117 size-type-test. Contract: rules/ONX117-size-type-test.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX117")
def size_type_test(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a test whether a dynamic size is an `int`."""
    if fact.hazard == "type":
        yield Objection(
            f"`{fact.text}` asks whether a dynamic size is an `int`: it is in PyTorch, and in no export",
            "do without the test, or ask for what is no number: `isinstance(size, (tuple, list))`",
            effects=fact.effects,
        )
