from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import TransformCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import named


class FunctionTransform(Rule):
    """Object to a transform of functions in what is exported."""

    def on_transform_call(self, node: Node, call: TransformCall) -> Objections:
        if call.op.endswith("vmap"):
            yield Objection(
                "`vmap` is unrolled by the TorchScript exporter, which may fail on another size than the example's",
                "write the batched computation out, with broadcasting",
                severity=Severity.WARNING,
                effects={"torchscript": Outcome.SHAPE_ERROR, "dynamo": Outcome.OK},
            )
            return
        yield Objection(f"{named(call.exporters)} cannot trace through `{call.op}`")
