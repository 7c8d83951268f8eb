from onnxlint.flow.state.observations import SizeSplit
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DynamicSplit(Rule):
    """Object to pieces whose number or length follows a dynamic size."""

    def on_size_split(self, node: Node, seen: SizeSplit) -> Objections:
        message = f"`{seen.op}` cuts a dynamic axis: number and length of the pieces are the example's: `{seen.text}`"
        yield Objection(message, effects=seen.outcomes)
