from onnxlint.flow.state.observations import SizeArgument
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class StrideArithmetic(Rule):
    """Object to strides that the trace takes for numbers."""

    def on_size_argument(self, node: Node, seen: SizeArgument) -> Objections:
        if seen.op == "as_strided":
            yield Objection(
                f"`{seen.op}` with strides that follow from dynamic sizes: TorchScript keeps the"
                f" example's: `{seen.text}`"
            )
