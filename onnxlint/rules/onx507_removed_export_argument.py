from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.export_edits import NeedlessArgument, argument_at

# What torch 2.13 answers with a TypeError, and what to write instead.
ARGUMENTS = {
    "example_outputs": "leave it out: the outputs come from running the model",
    "enable_onnx_checker": "leave it out, and run `onnx.checker.check_model` on the file",
    "use_external_data_format": "leave it out; the dynamo exporter takes `external_data=`",
    "strip_doc_string": "leave it out; `verbose=True` keeps the source locations",
    "_retain_param_name": "leave it out: names are kept",
    "aten": "leave it out",
    "export_raw_ir": "leave it out",
    "fallback": "leave it out: choose the exporter with `dynamo=`",
    "export_options": "give `dynamic_shapes`, `opset_version` and the like to `torch.onnx.export` itself",
    "propagate": "leave it out",
    "defer_weight_export": "leave it out",
}
FUNCTIONS = {
    "torch.onnx.dynamo_export": "`torch.onnx.export(..., dynamo=True)`",
    "torch.onnx._export": "`torch.onnx.export`",
    "torch.onnx.export_to_pretty_string": "`torch.onnx.export` and `onnx.printer.to_text`",
}
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
