from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Output
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.tables import TABLES

WORDS = TABLES["ONX416"]["words"]
EFFECTS = {
    what: {exporter: Outcome(outcome) for exporter, outcome in effects.items()}
    for what, effects in TABLES["ONX416"]["effects"].items()
}


class NonTensorOutput(Rule):
    """Object to an output that is no tensor, and holds none in a form that exporters know."""

    def on_output(self, node: Node, output: Output) -> Objections:
        if output.what in WORDS:
            message = f"forward returns {WORDS[output.what].format(output.name)}: outputs of a graph are tensors"
            yield Objection(message, effects=EFFECTS.get(output.what))
