"""ONX410 tensor-to-file. Contract: rules/ONX410-tensor-to-file.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX410")
def tensor_to_file(call: OpCall) -> Iterator[Objection]:
    """Object to a tensor that forward stores or plots."""
    if call.hazard == "file":
        yield Objection(
            f"`{call.op}` stores a tensor in forward: while dynamo exports, the tensor has no data",
            "return the tensor as an output, or store it in a hook that is not there during the export",
        )
