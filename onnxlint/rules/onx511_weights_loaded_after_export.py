from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class WeightsLoadedAfterExport(Rule):
    """Object to weights that the model gets when the file is already written."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        for span, what in call.later_loads:
            late = f"after its export in line {call.span.line}"
            yield Objection(f"`{what}` gives the model weights {late}: the file has the old ones", at=span)
