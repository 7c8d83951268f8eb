from onnxlint.flow.state.observations import RecurrentSize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class RecurrentLength(Rule):
    """Object to a recurrent layer over a dynamic length that dynamo fixes."""

    def on_recurrent_size(self, node: Node, seen: RecurrentSize) -> Objections:
        first = " with the steps first" if seen.time_first else ""
        message = f"`{seen.op}`{first} over a dynamic length: the dynamo exporter takes the example's length alone"
        advice = "build it with `batch_first=True` and transpose what it gets and gives" if seen.time_first else ""
        yield Objection(message, advice, effects=seen.outcomes)
