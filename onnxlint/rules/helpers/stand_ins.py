"""A forward that only stands in for what the `symbolic` of its autograd.Function writes."""

from onnxlint.base.records import Severity
from onnxlint.flow.state.observations import StandIn
from onnxlint.rules.engine.rule import Objection


def missing_operator(call: StandIn) -> Objection:
    """What becomes of an autograd.Function whose forward only stands in for what its `symbolic` writes."""
    message = (
        f"dynamo ignores the `symbolic` of `{call.op}` and exports this forward, a stand-in: the operator is missing"
        " from the file"
    )
    advice = "export with `dynamo=False`, which calls `symbolic`, or register a translation of a custom operator"
    return Objection(message, advice, severity=Severity.WARNING, effects=call.outcomes, about="stand-in")
