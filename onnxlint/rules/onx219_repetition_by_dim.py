from onnxlint.flow.state.observations import SizeRepetition
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class RepetitionByDim(Rule):
    """Object to something repeated as often as a size says, where the count has to be a number."""

    def on_size_repetition(self, node: Node, seen: SizeRepetition) -> Objections:
        message = f"repeated by a dynamic size, which has to be a number for that: `{seen.text}`"
        yield Objection(message, effects=seen.outcomes, about="lists made by a size")
