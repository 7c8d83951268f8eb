from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.export_edits import argument_at, leave_out


class WeightsLeftOut(Rule):
    """Object to a file without weights."""

    safety = Safety.SAFE

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.settings.get("export_params") is False:
            yield Objection(
                "`export_params=False` leaves the weights out: the file does not run by itself",
                "leave the argument out; large weights go to a second file with `external_data=True`, the default",
                at=argument_at(node, call, "export_params"),
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: without its weights the file does not run."""
        return leave_out(site, Safety.SAFE)
