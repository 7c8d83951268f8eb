"""Observations at one place are one: which of them stands, and what the others add to it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxlint.base.records import EXPORTERS, Outcome, Span
from onnxlint.flow.state.observations import Branch, Call, Example, ExportCall

HERE, ELSEWHERE = Span("model.py", 7, 5, 7, 9), Span("model.py", 3, 1, 3, 4)
BRANCH = Branch(HERE, "x.sum() > 0", "M.forward")


def test_one_that_is_sure_makes_both_sure() -> None:
    doubted = replace(BRANCH, sure=False, doubt="axis", certain=False, exporters=("dynamo",))
    for both in (BRANCH.and_also(doubted), doubted.and_also(BRANCH)):
        assert (both.sure, both.doubt, both.certain, both.exporters) == (True, "", True, EXPORTERS)


def test_of_two_doubts_the_weaker_one_stands() -> None:
    axis, guess = replace(BRANCH, sure=False, doubt="axis"), replace(BRANCH, sure=False, doubt="guess")
    assert axis.and_also(guess).doubt == guess.and_also(axis).doubt == "axis"
    assert not axis.and_also(guess).sure


def test_what_runs_outside_of_every_export_adds_nothing() -> None:
    inside = replace(BRANCH, sure=False, doubt="flag", exporters=("dynamo",))
    outside = replace(BRANCH, outside="it is a loss")
    assert inside.and_also(outside) == outside.and_also(inside) == inside


def test_a_number_that_was_frozen_at_two_places_was_frozen_at_none() -> None:
    one, other = replace(BRANCH, frozen=HERE), replace(BRANCH, frozen=ELSEWHERE)
    assert one.and_also(other).frozen is None
    assert one.and_also(one).frozen == HERE


def test_another_outcome_is_another_observation() -> None:
    fails = Call(HERE, "f(x)", "M.forward", op="torch.f", outcomes={"dynamo": Outcome.EXPORT_ERROR})
    assert fails.key != replace(fails, outcomes={"dynamo": Outcome.WRONG_VALUES}).key
    assert fails.key == replace(fails, detail="with a mask").key
    assert fails.exporters_with(Outcome.EXPORT_ERROR) == ("dynamo",)
    assert replace(fails, exporters=("torchscript",)).exporters_with(Outcome.EXPORT_ERROR) == ()


@pytest.mark.parametrize(
    ("api", "arguments", "dynamo", "chosen"),
    [
        ("torch.onnx.export", ("model", "args"), True, ""),
        ("torch.onnx.export", ("model", "dynamo"), True, "dynamo"),
        ("torch.onnx.export", ("model", "dynamo"), False, "torchscript"),
        ("torch.onnx.export", ("model", "dynamo"), None, ""),
        ("torch.onnx.utils.export", ("model",), True, "torchscript"),
        ("torch.export.export", ("model",), True, "dynamo"),
    ],
)
def test_the_exporter_that_a_call_asks_for(
    api: str, arguments: tuple[str, ...], dynamo: bool | None, chosen: str
) -> None:
    call = ExportCall(HERE, "export(...)", "main", api=api, arguments=arguments, dynamo=dynamo)
    assert call.chosen == chosen


def test_a_default_opset_gives_way_to_the_one_that_a_caller_gives() -> None:
    call = ExportCall(HERE, "export(...)", "main")
    assert call.and_also(replace(call, opset=17)).opset == 17


def test_what_a_fix_may_ask_of_an_export_call() -> None:
    call = ExportCall(HERE, "export(...)", "main", model="net", parameters=("x", "y"), input_names=None, dynamo=None)
    call = replace(call, examples=(Example(sizes=(1, 3)), Example()))
    assert call.hints == {"model": "net", "parameters": "x,y", "examples": "2,"}
