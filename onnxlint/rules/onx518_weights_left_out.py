from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.export_edits import NeedlessArgument, argument_at


class WeightsLeftOut(NeedlessArgument):
    """Object to a file without weights."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.settings.get("export_params") is False:
            message = "`export_params=False` leaves the weights out: the file does not run by itself"
            yield Objection(message, at=argument_at(node, call, "export_params"))
