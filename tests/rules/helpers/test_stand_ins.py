"""A forward that only stands in for what the `symbolic` of its autograd.Function writes."""

from __future__ import annotations

from onnxlint.base.records import Outcome, Severity, Span
from onnxlint.flow.state.observations import StandIn
from onnxlint.rules.helpers.stand_ins import missing_operator


def test_the_message_names_the_function_and_the_remedy_both_ways_out() -> None:
    outcomes = {"dynamo": Outcome.WRONG_VALUES}
    call = StandIn(Span("m.py", 3, 1, 3, 9), "Nms.apply(x)", "m.f", statement=3, op="Nms", outcomes=outcomes)
    objection = missing_operator(call)
    assert "`symbolic` of `Nms`" in objection.message
    assert objection.effects == outcomes
    assert objection.severity is Severity.WARNING
    assert "dynamo=False" in str(objection)
    assert "translation of a custom operator" in str(objection)
