from onnxlint.base.records import EXPORTERS, Outcome, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at


class ExportPrecision(Rule):
    """Object to an example of another precision than the model's, and to bfloat16."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.api == "torch.export.export":
            return
        bfloat = call.precision == "bfloat16" or call.autocast == "bfloat16"
        if bfloat:
            where = "the model is in bfloat16" if call.precision == "bfloat16" else "autocast computes in bfloat16"
            message = f"{where}, for which ONNX Runtime has few operators on the CPU: no Gemm, no MatMul, no Conv"
            span, effects = argument_at(node, call, "model"), dict.fromkeys(EXPORTERS, Outcome.RUNTIME_ERROR)
            yield Objection(message, at=span, severity=Severity.WARNING, effects=effects)
        if call.precision is None or call.autocast is not None or bfloat:
            return
        for example in call.examples or ():
            if example.dtype is not None and example.dtype != call.precision:
                name = f"`{example.parameter}`" if example.parameter is not None else "an input"
                message = (
                    f"{name} is {example.dtype} in the example, and the model is {call.precision}: TorchScript raises,"
                    " and ONNX Runtime refuses dynamo's file"
                )
                yield Objection(message, f"make the example {call.precision}", at=example.span)
