from onnxlint.flow.state.observations import SizeArgument
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class SlidingWindow(Rule):
    """Object to windows whose number follows a dynamic size."""

    def on_size_argument(self, node: Node, seen: SizeArgument) -> Objections:
        if seen.op in ("fold", "unfold"):
            yield Objection(
                f"`{seen.op}` over a dynamic axis: TorchScript has to know how many windows there are: `{seen.text}`"
            )
