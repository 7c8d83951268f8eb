"""ONX520 opset-too-low. Contract: rules/ONX520-opset-too-low.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall
from onnxlint.paths import package_path
from onnxlint.records import Outcome


@check("ONX520")
def opset_too_low(call: ExportCall) -> Iterator[Objection]:
    """Object to an opset at which the TorchScript exporter refuses operators that it lowers at later ones."""
    if not call.too_new:
        return
    newest, *others = call.too_new
    more = f", and {len(others)} more" if others else ""
    yield Objection(
        f"the TorchScript exporter lowers `{newest.op}` ({package_path(newest.span.path)}:{newest.span.line}{more})"
        f" from opset {newest.since} on, and is asked for {call.opset}",
        f"ask for opset {newest.since} or later",
        span=call.argument_spans.get("opset_version"),
        effects={"torchscript": Outcome.EXPORT_ERROR},
    )
