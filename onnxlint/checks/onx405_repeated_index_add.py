"""ONX405 repeated-index-add. Contract: rules/ONX405-repeated-index-add.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX405")
def repeated_index_add(call: OpCall) -> Iterator[Objection]:
    """Object to `index_add`, of which TorchScript keeps one summand where an index repeats."""
    if call.hazard == "index-add":
        yield Objection(
            f"`{call.op.rpartition('.')[2]}` loses summands in the TorchScript exporter where an index repeats",
            "use `scatter_add` with an expanded index, which lowers right in both exporters",
        )
