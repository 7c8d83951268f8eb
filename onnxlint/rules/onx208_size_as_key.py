from onnxlint.flow.state.observations import SizeKey
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class SizeAsKey(Rule):
    """Object to a Python container that is asked for the item of a size."""

    def on_size_key(self, node: Node, seen: SizeKey) -> Objections:
        message = f"a dynamic size looks up a Python container: `{seen.text}`; in an export it is no such key"
        if seen.op == "=":
            message = f"a dynamic size is the key that a Python container keeps something by: `{seen.text}`"
        yield Objection(message, effects=seen.outcomes)
