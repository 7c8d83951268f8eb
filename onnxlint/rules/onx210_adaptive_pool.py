from onnxlint.flow.state.observations import PooledSize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class AdaptivePool(Rule):
    """Object to pooling to a grid whose window no exporter can write down."""

    def on_pooled_size(self, node: Node, seen: PooledSize) -> Objections:
        advice = "pool to one cell, fix the size of the axis, or write the cells as means over slices"
        if seen.unchanged:
            message = f"TorchScript refuses `{seen.op}` with None in its sizes if any axis is dynamic, even the batch"
            advice = "write the mean or maximum of the pooled axes alone: `x.mean(3, keepdim=True)`"
        elif seen.cells is not None:
            message = f"TorchScript refuses `{seen.op}`: {seen.size} cells do not divide evenly into {seen.cells}"
        else:
            message = f"`{seen.op}` over a dynamic axis: its window is computed from the example's size: `{seen.text}`"
        yield Objection(message, advice)
