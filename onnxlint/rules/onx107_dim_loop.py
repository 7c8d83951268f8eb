from onnxlint.flow.state.observations import Loop
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DimLoop(Rule):
    """Object to a loop that runs as often as a dynamic axis is long."""

    def on_loop(self, node: Node, loop: Loop) -> Objections:
        if loop.over == "dim":
            yield Objection(
                f"the loop runs once per element of a dynamic axis: `{self.source(node)}`; it is unrolled for the"
                " example's size",
                about=f"loops over {' and '.join(loop.axes)}" if loop.axes else "",
                among="class",
            )
