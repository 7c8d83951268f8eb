from onnxlint.base.records import EXPORTER_NAMES, EXPORTERS, Outcome
from onnxlint.flow.state.observations import CustomCall, StandIn
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.stand_ins import missing_operator


class CustomOperator(Rule):
    """Object to a kernel or an operator of one's own, which no exporter can translate."""

    def on_custom_call(self, node: Node, call: CustomCall) -> Objections:
        other = next((EXPORTER_NAMES[exporter] for exporter in EXPORTERS if exporter not in call.outcomes), None)
        who = f"only the {other} exporter has a" if other else "neither exporter has a"
        if not other and len(call.exporters) == 1:  # a `symbolic` or a guard keeps the other one out
            who = f"the {EXPORTER_NAMES[call.exporters[0]]} exporter has no"
        yield Objection(
            f"`{call.op}` is a custom operator or kernel: {who} translation for it",
            about=f"{call.op} is custom",
            among="file",
        )

    def on_stand_in(self, node: Node, call: StandIn) -> Objections:
        if Outcome.NONDETERMINISTIC not in call.results:
            yield missing_operator(call)
