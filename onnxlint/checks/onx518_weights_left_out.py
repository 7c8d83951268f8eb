"""ONX518 weights-left-out. Contract: rules/ONX518-weights-left-out.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX518")
def weights_left_out(call: ExportCall) -> Iterator[Objection]:
    """Object to a file without weights."""
    if call.settings.get("export_params") is False:
        yield Objection(
            "`export_params=False` leaves the weights out: the file does not run by itself",
            "leave the argument out; large weights go to a second file with `external_data=True`, the default",
            span=call.argument_spans.get("export_params"),
        )
