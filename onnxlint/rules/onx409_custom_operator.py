from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import CustomCall, StandIn
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class CustomOperator(Rule):
    """Object to a kernel or an operator of one's own, which no exporter can translate."""

    def on_custom_call(self, node: Node, call: CustomCall) -> Objections:
        names = {"torchscript": "TorchScript", "dynamo": "dynamo"}
        other = next((name for exporter, name in names.items() if exporter not in call.outcomes), None)
        yield Objection(
            f"`{call.op}` is a custom operator or kernel: "
            + (f"only the {other} exporter has" if other else "neither exporter has")
            + " a translation for it",
            "keep a plain PyTorch version beside it for the export, or register a translation with the exporter",
        )

    def on_stand_in(self, node: Node, call: StandIn) -> Objections:
        if Outcome.NONDETERMINISTIC not in call.results:
            yield left_out(call)


def left_out(call: StandIn) -> Objection:
    """What becomes of an autograd.Function whose forward only stands in for what its `symbolic` writes."""
    return Objection(
        f"dynamo ignores the `symbolic` of `{call.op}` and exports this forward, a stand-in: the operator is missing"
        " from the file",
        "export with `dynamo=False`, which calls `symbolic`, or register a translation of a custom operator",
        severity=Severity.WARNING,
        effects=call.outcomes,
        about="stand-in",
    )
