"""ONX420 sparse-tensor. Contract: rules/ONX420-sparse-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX420")
def sparse_tensor(call: OpCall) -> Iterator[Objection]:
    """Object to a sparse or nested layout."""
    if call.hazard == "sparse":
        yield Objection(
            f"`{call.op}` works on a sparse or nested layout: neither exporter can lower it",
            "make the matrix dense, or sum over edges with `index_select` and `scatter_add`",
        )
