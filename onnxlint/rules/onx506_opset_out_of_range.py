from functools import partial

from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at

# Measured with torch 2.13 and onnxruntime 1.31.
DYNAMO = range(18, 27)  # below, the file is converted down afterwards, or left as it is; above, the runtime refuses it
CONVERTED = range(13, 18)  # below, no file came out converted
TORCHSCRIPT = range(9, 24)  # below, initializers become inputs; above, the exporter raises


class OpsetOutOfRange(Rule):
    """Object to an opset that the exporter does not write, or that no runtime reads."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        opset, span = call.opset, argument_at(node, call, "opset_version")
        if opset is None:
            return
        about = f"the exporter of line {call.statement}"
        stays = opset < CONVERTED.start
        # Measured: the file loads and is right, at 18 or converted, but for a `Split`.
        effects = {"dynamo": Outcome.OK if opset < DYNAMO.start else Outcome.RUNTIME_ERROR}
        unloadable = partial(Objection, at=span, effects=effects, about=about)
        if call.dynamo and opset < DYNAMO.start:
            yield unloadable(
                f"the dynamo exporter writes opset 18 and cannot convert it to {opset}: the file keeps opset 18, which"
                f" a runtime for opset {opset} does not load"
                if stays
                else f"the dynamo exporter writes opset 18 and converts it to {opset} afterwards, which fails for many"
                f" operators: the file keeps opset 18, which a runtime for opset {opset} does not load, or it holds"
                " nodes (`Split`) that its opset does not know",
                "ask for opset 18 or later, or for the TorchScript exporter with `dynamo=False`",
            )
        elif call.dynamo and opset >= DYNAMO.stop:
            yield unloadable(
                f"no released ONNX Runtime loads opset {opset}",
                "leave `opset_version` out, or ask for one from 18 to 26",
            )
        elif call.dynamo is False and opset >= TORCHSCRIPT.stop:
            message = f"the TorchScript exporter knows opsets up to 20 and refuses {opset}"
            advice = "ask for opset 20 or below, or use the dynamo exporter"
            effects = {"torchscript": Outcome.EXPORT_ERROR}
            yield Objection(message, advice, at=span, severity=Severity.ERROR, effects=effects)
        elif call.dynamo is False and opset < TORCHSCRIPT.start:
            weights = f"at opset {opset} every weight becomes an input of the graph"
            message = f"{weights}, and runtimes lack old operator versions"
            advice = "ask for opset 9 at the least; 17 or later covers most operators"
            yield Objection(message, advice, at=span, effects={"torchscript": Outcome.RUNTIME_ERROR})
