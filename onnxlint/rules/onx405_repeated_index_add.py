"""ONX405 repeated-index-add. Contract: rules/ONX405-repeated-index-add.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import OpCall
from onnxlint.rules.rule import Objection, Rule


class RepeatedIndexAdd(Rule):
    """Object to `index_add`, of which TorchScript keeps one summand where an index repeats."""

    code = "ONX405"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "index-add":
            yield Objection(
                f"`{call.op.rpartition('.')[2]}` loses summands in the TorchScript exporter where an index repeats",
                "use `scatter_add` with an expanded index, which lowers right in both exporters",
            )
