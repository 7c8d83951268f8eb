"""ONX217 negative-size-division. Contract: rules/ONX217-negative-size-division.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard

WORDS = {
    "//": "ONNX divides towards zero, Python rounds a negative quotient down",
    "divmod": "it has no form for symbols, and both exporters refuse it",
}


@check("ONX217")
def negative_size_division(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a division of sizes that ONNX rounds otherwise."""
    if fact.hazard == "negative-division":
        yield Objection(
            f"`{fact.op}` on a dynamic size: {WORDS[fact.op]}: `{fact.text}`",
            "round up with `(n + k - 1) // k`; write `n // k` and `n % k` for `divmod`",
            effects=fact.effects,
        )
