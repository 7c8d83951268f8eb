from onnxlint.flow.state.observations import Loop
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class TensorIteration(Rule):
    """Object to Python iteration over a tensor along an axis that may change its size."""

    def on_loop(self, node: Node, loop: Loop) -> Objections:
        if loop.over == "sizes":
            message = (
                f"a Python loop reads the sizes in the tensor `{self.source(node)}` as numbers: they are those of the"
                " example"
            )
            yield Objection(message, "keep the sizes in a list or a tuple and loop over that", about="loops over sizes")
        elif loop.over == "tensor":
            yield Objection(
                f"a Python loop runs over the tensor `{self.source(node)}`: it is unrolled for the size of the example",
                about=f"loops over {' and '.join(loop.axes)}" if loop.axes else "",
                among="class",
            )
