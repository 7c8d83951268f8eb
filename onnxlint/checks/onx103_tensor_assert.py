"""ONX103 tensor-assert. Contract: rules/ONX103-tensor-assert.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Assertion


@check("ONX103")
def tensor_assert(assertion: Assertion) -> Iterator[Objection]:
    """Object to an assert, or an `if` that only raises, on tensor data."""
    if assertion.reads in ("data", "weight"):
        word = "assert" if assertion.keyword == "assert" else "validating `if`"
        yield Objection(
            f"the {word} reads the value of a tensor: `{assertion.text}`",
            "check the input before the model, or write `torch._check(...)` for the dynamo exporter",
        )
