from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Call
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import named
from onnxlint.rules.helpers.tables import TABLES

_RESULTS, _ADVICE = TABLES["ONX408"]["results"], TABLES["ONX408"]["advice"]


class OperatorLoweredWrong(Rule):
    """Object to an operator that an exporter translates to something else."""

    def on_call(self, node: Node, call: Call) -> Objections:
        for outcome, result in ((Outcome(name), result) for name, result in _RESULTS.items()):
            exporters = call.exporters_with(outcome)
            if outcome is Outcome.RUNTIME_ERROR and call.exporters_with(Outcome.EXPORT_ERROR):
                continue  # told along with what the other exporter refuses
            if exporters and type(call) is Call:  # any other type has a rule of its own
                what = f"a write to `{self.source(node)}`" if call.op == "index_put" else f"`{call.op}`"
                message = f"{named(exporters)} translate{'s' * (len(exporters) == 1)} {what}{call.form} to {result}"
                advice = next((advice for begin, advice in _ADVICE.items() if call.detail.startswith(begin)), "")
                effects = dict.fromkeys(exporters, outcome)
                yield Objection(message, advice, effects=effects, about=f"translates {call.op}{call.form}")
