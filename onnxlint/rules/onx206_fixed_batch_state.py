from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.literal_sizes import LiteralSize, literal_hints


class FixedBatchState(LiteralSize):
    """Object to a state that is made with the batch of the example; eager takes no other with the literal either."""

    def on_shape_literal(self, node: Node, shape: ShapeLiteral) -> Objections:
        if shape.call == "fixed state":
            yield Objection(
                f"the state has the literal size {shape.literal} on the dynamic axis `{shape.axis}`:"
                f" `{self.source(node)}`",
                hints=literal_hints(shape),
            )
