from onnxlint.flow.state.observations import PooledSize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class AdaptivePool(Rule):
    """Object to pooling to a grid whose window no exporter can write down."""

    def on_pooled_size(self, node: Node, seen: PooledSize) -> Objections:
        if seen.cells is not None:
            message = f"`{seen.op}` divides {seen.size} by {seen.cells}, which leaves a rest: TorchScript refuses it"
        else:
            message = f"`{seen.op}` over a dynamic axis: its window is computed from the example's size: `{seen.text}`"
        advice = "pool to one cell, fix the size of the axis, or write the cells as means over slices"
        yield Objection(message, advice)
