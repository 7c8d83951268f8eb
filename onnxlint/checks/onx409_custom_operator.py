"""ONX409 custom-operator. Contract: rules/ONX409-custom-operator.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX409")
def custom_operator(call: OpCall) -> Iterator[Objection]:
    """Object to a kernel or an operator of one's own, which no exporter can translate."""
    if call.hazard == "custom":
        yield Objection(
            f"`{call.op}` is a custom operator or kernel: neither exporter has a translation for it",
            "keep a plain PyTorch version beside it for the export, or register a translation with the exporter",
        )
