from onnxlint.flow.state.observations import ItemChoice
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class DataChosenItem(Rule):
    """Object to a Python container whose item tensor data chooses."""

    def on_item_choice(self, node: Node, seen: ItemChoice) -> Objections:
        message = f"the value of a tensor chooses an item of a Python container: `{seen.text}`; the example's is kept"
        yield Objection(message, about=f"item {seen.text}")
