"""ONX514 parallel-wrapper. Contract: rules/ONX514-parallel-wrapper.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX514")
def parallel_wrapper(call: ExportCall) -> Iterator[Objection]:
    """Object to the export of a model inside of DataParallel."""
    if call.wrapping == "parallel":
        yield Objection(
            "the model is wrapped for several devices: TorchScript refuses it, and dynamo sees `*inputs` only",
            "export `model.module`",
            span=call.argument_spans.get("model"),
        )
