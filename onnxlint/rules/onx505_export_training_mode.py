from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.export_edits import NeedlessArgument, argument_at


class ExportTrainingMode(NeedlessArgument):
    """Object to an export in training mode."""

    changes_output = True

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.training in ("TRAINING", "TrainingMode.TRAINING"):
            message = "the export asks for training mode: dropout and batch statistics stay in the graph"
            yield Objection(message, at=argument_at(node, call, "training"))
