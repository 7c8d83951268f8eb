from onnxlint.base.records import EXPORTER_NAMES, EXPORTERS, Outcome
from onnxlint.flow.state.observations import CustomCall, StandIn
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.stand_ins import missing_operator


class CustomOperator(Rule):
    """Object to a kernel or an operator of one's own, which no exporter can translate."""

    def on_custom_call(self, node: Node, call: CustomCall) -> Objections:
        able = (e for e in EXPORTERS if e not in call.outcomes or e not in call.exporters)  # `symbolic` translates it
        other = next((EXPORTER_NAMES[exporter] for exporter in able), None)
        yield Objection(
            f"`{call.op}` is a custom operator or kernel: "
            + (f"only the {other} exporter has" if other else "neither exporter has")
            + " a translation for it",
            about=f"{call.op} is custom",
            among="file",
        )

    def on_stand_in(self, node: Node, call: StandIn) -> Objections:
        if Outcome.NONDETERMINISTIC not in call.results:
            yield missing_operator(call)
