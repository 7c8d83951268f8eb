from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Call
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import named

_RESULTS = {
    Outcome.WRONG_VALUES: "something that computes other values",
    Outcome.RUNTIME_ERROR: "something that ONNX Runtime does not load",
}


class OperatorLoweredWrong(Rule):
    """Object to an operator that an exporter translates to something else."""

    def on_call(self, node: Node, call: Call) -> Objections:
        how = f" {call.detail}" if call.detail[:3] == "of " else f" with `{call.detail}`" if call.detail else ""
        for outcome, result in _RESULTS.items():
            exporters = call.exporters_with(outcome)
            if exporters and type(call) is Call:  # any other type has a rule of its own
                yield Objection(
                    f"{named(exporters)} translates `{call.op}`{how} to {result}",
                    "say it with other operators (see the rule), and compare the file with PyTorch",
                    effects=dict.fromkeys(exporters, outcome),
                )
