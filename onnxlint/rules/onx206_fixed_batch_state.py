from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.onx201_literal_batch import literal_hints, take_the_size


class FixedBatchState(Rule):
    """Object to a state that is made with the batch of the example."""

    safety = Safety.SAFE

    def on_shape_literal(self, node: Node, shape: ShapeLiteral) -> Objections:
        if shape.call == "fixed state":
            yield Objection(
                f"the state has the literal size {shape.literal} on the dynamic axis `{shape.axis}`:"
                f" `{self.source(node)}`",
                "take the size from the input: `x.shape[0]` or `x.new_zeros(..., x.shape[0], ...)`",
                hints=literal_hints(shape),
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: eager takes no other batch with the literal."""
        return take_the_size(site)
