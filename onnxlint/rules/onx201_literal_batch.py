from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.literal_sizes import LiteralSize, literal_hints


class LiteralBatch(LiteralSize):
    """Object to a literal size where a dynamic axis should be followed."""

    def on_shape_literal(self, node: Node, shape: ShapeLiteral) -> Objections:
        if shape.call in ("fixed state", "literal length"):
            return
        message = f"`{shape.call}` has the literal {shape.literal} where the dynamic axis `{shape.axis}` belongs"
        advice = f"take that size from the tensor: `x.{shape.call}(x.shape[0], ...)`, or start with `flatten(1)`"
        yield Objection(message, advice, hints=literal_hints(shape))
