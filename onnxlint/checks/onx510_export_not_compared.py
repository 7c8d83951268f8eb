"""ONX510 export-not-compared. Contract: rules/ONX510-export-not-compared.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX510")
def export_not_compared(call: ExportCall) -> Iterator[Objection]:
    """Object to a TorchScript export whose result nothing in the file looks at."""
    if call.dynamo is False and not call.compared:
        yield Objection(
            "nothing compares the exported file with the model",
            "run both on inputs other than the example, in other sizes too, and compare: `torch.testing.assert_close`",
        )
