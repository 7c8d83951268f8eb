from onnxlint.flow.state.observations import AutocastCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class AutocastInForward(Rule):
    """Object to autocast that is on inside of the model."""

    def on_autocast_call(self, node: Node, call: AutocastCall) -> Objections:
        yield Objection(f"`{call.text}` writes the precision of the exporting machine into the graph")
