"""ONX420 sparse-tensor. Contract: rules/ONX420-sparse-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SparseCall
from onnxlint.rules.engine.rule import Objection, Rule


class SparseTensor(Rule):
    """Object to a sparse or nested layout."""

    code = "ONX420"

    def on_sparse_call(self, node: cst.CSTNode, call: SparseCall) -> Iterator[Objection]:
        yield Objection(
            f"`{call.op}` works on a sparse or nested layout: neither exporter can lower it",
            "make the matrix dense, or sum over edges with `index_select` and `scatter_add`",
        )
