"""ONX103 tensor-assert. Contract: rules/ONX103-tensor-assert.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Assertion
from onnxlint.rules.rule import Objection, Rule


class TensorAssert(Rule):
    """Object to an assert, or an `if` that only raises, on tensor data."""

    code = "ONX103"

    def on_assertion(self, node: cst.CSTNode, assertion: Assertion) -> Iterator[Objection]:
        if assertion.reads in ("data", "weight"):
            word = "assert" if assertion.keyword == "assert" else "validating `if`"
            yield Objection(
                f"the {word} reads the value of a tensor: `{assertion.text}`",
                "check the input before the model, or write `torch._check(...)` for the dynamo exporter",
            )
