"""ONX217 negative-size-division. Contract: rules/ONX217-negative-size-division.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule

WORDS = {
    "//": "ONNX divides towards zero, Python rounds a negative quotient down",
    "divmod": "it has no form for symbols, and both exporters refuse it",
}


class NegativeSizeDivision(Rule):
    """Object to a division of sizes that ONNX rounds otherwise."""

    code = "ONX217"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "negative-division":
            yield Objection(
                f"`{fact.op}` on a dynamic size: {WORDS[fact.op]}: `{fact.text}`",
                "round up with `(n + k - 1) // k`; write `n // k` and `n % k` for `divmod`",
                effects=fact.effects,
            )
