from onnxlint.base.paths import package_path
from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at


class OpsetTooLow(Rule):
    """Object to an opset at which the TorchScript exporter refuses operators that it lowers at later ones."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if not call.too_new:
            return
        newest, *others = call.too_new
        more = f", and {len(others)} more" if others else ""
        yield Objection(
            f"the TorchScript exporter lowers `{newest.op}` ({package_path(newest.span.path)}:{newest.span.line}{more})"
            f" from opset {newest.since} on, and is asked for {call.opset}",
            f"ask for opset {newest.since} or later",
            at=argument_at(node, call, "opset_version"),
            effects={"torchscript": Outcome.EXPORT_ERROR},
        )
