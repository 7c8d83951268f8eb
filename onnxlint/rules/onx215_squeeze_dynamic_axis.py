from onnxlint.flow.state.observations import Squeeze
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class SqueezeDynamicAxis(Rule):
    """Object to a squeeze that depends on the size of a dynamic axis."""

    def on_squeeze(self, node: Node, seen: Squeeze) -> Objections:
        if seen.dim is not None and seen.certain:  # in an arm that a size chose, the size is known
            yield Objection(
                f"`squeeze({seen.dim})` removes a dynamic axis or keeps it, as its size is one or not: `{seen.text}`"
            )
