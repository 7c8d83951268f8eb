from onnxlint.flow.state.observations import DataSize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DataDependentSize(Rule):
    """Object to a size that is the largest value in a tensor."""

    def on_data_size(self, node: Node, seen: DataSize) -> Objections:
        yield Objection(f"without `num_classes` the size of `{seen.op}` is read from the data: `{seen.text}`")
