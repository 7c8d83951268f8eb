from onnxlint.flow.state.observations import Loop
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DataLoopBound(Rule):
    """Object to a loop whose count is read out of a tensor."""

    def on_loop(self, node: Node, loop: Loop) -> Objections:
        if loop.over == "data":
            yield Objection(f"tensor data says how often the loop runs: `{self.source(node)}`")
