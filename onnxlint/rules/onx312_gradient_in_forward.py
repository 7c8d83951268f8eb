from onnxlint.flow.state.observations import GradientCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class GradientInForward(Rule):
    """Object to autograd in what is exported."""

    def on_gradient_call(self, node: Node, call: GradientCall) -> Objections:
        yield Objection(f"`{call.text}` takes a gradient in forward, which no graph holds")
