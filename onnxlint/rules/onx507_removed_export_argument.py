from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.export_edits import NeedlessArgument, argument_at
from onnxlint.rules.helpers.tables import TABLES

ARGUMENTS, FUNCTIONS = TABLES["ONX507"]["arguments"], TABLES["ONX507"]["functions"]
BY_POSITION = 3  # model, args, f


class RemovedExportArgument(NeedlessArgument):
    """Object to functions and arguments that torch no longer has."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.api == "torch.export.export" or call.for_a_version:
            return
        if call.api in FUNCTIONS:
            message = f"torch no longer has `{call.api}`"
            yield Objection(message, f"call {FUNCTIONS[call.api]}", about=f"removed {call.api}")
            return
        for name in call.arguments:
            if name in ARGUMENTS:
                message = f"`torch.onnx.export` no longer takes `{name}`: the call raises a TypeError"
                at, about = argument_at(node, call, name), f"removed {name}"
                yield Objection(message, ARGUMENTS[name], at=at, ends=True, about=about)
        if call.positional > BY_POSITION and call.api == "torch.onnx.export":
            name = call.arguments[BY_POSITION] if len(call.arguments) > BY_POSITION else "export_params"
            message = (
                f"`torch.onnx.export` takes the model, its inputs and the file by position, and no more: this call"
                f" gives {call.positional}"
            )
            yield Objection(message, f"name the rest: `{name}=...`", at=argument_at(node, call, name), ends=True)
