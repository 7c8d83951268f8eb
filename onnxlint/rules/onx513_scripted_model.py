from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at


class ScriptedModel(Rule):
    """Object to a scripted, traced or compiled model given to an exporter that does not take it."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        span = argument_at(node, call, "model")
        if call.wrapping in ("script", "trace", "load") and call.dynamo is not False:
            message = f"the dynamo exporter refuses the ScriptModule that `torch.jit.{call.wrapping}` made"
            advice = "export the model itself, or use the TorchScript exporter with `dynamo=False`"
            yield Objection(message, advice, at=span, effects={"dynamo": Outcome.EXPORT_ERROR})
        elif call.wrapping == "compile" and call.dynamo is False:
            message = "the TorchScript exporter cannot trace what `torch.compile` made"
            yield Objection(message, at=span, effects={"torchscript": Outcome.EXPORT_ERROR})
        elif call.wrapping == "compile":
            named = call.has_dynamic_axes or call.has_dynamic_shapes
            yield Objection(
                "`torch.compile` hides the parameters of forward from the exporter"
                + (": the dynamic axes do not match, and the export fails" if named else ""),
                at=span,
                severity=None if named else Severity.NOTE,
                effects={"dynamo": Outcome.EXPORT_ERROR},
            )
