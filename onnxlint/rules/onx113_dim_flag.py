from onnxlint.flow.state.observations import SizeFlag
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DimFlag(Rule):
    """Object to a comparison of sizes that an operator takes for a Python bool."""

    def on_size_flag(self, node: Node, seen: SizeFlag) -> Objections:
        yield Objection(
            f"`{seen.parameter}` of `{seen.op}` is a comparison of a dynamic size, and not a bool during an export"
        )
