from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.export_edits import argument_at, leave_out


class ExportTrainingMode(Rule):
    """Object to an export in training mode."""

    safety = Safety.UNSAFE
    changes_output = True

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.training in ("TRAINING", "TrainingMode.TRAINING"):
            yield Objection(
                "the export asks for training mode: dropout and batch statistics stay in the graph",
                "leave `training` at its default, and put the model in eval mode",
                at=argument_at(node, call, "training"),
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the file holds the model in eval mode then, which is the point."""
        return leave_out(site, Safety.UNSAFE)
