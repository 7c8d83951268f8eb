"""Observations: where they are noted, how sure they are, and what they say of the variables around."""

import pytest
from analysing import PRELUDE, facts_of

from onnxlint.flow.state.observations import Branch

MODEL = "class M(nn.Module):\n    def forward(self, x: Tensor, flag=False):\n{body}        return x\n"


def branches(body: str) -> list[Branch]:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    return [seen for seen in facts_of(MODEL.format(body=lines)) if isinstance(seen, Branch)]


def test_an_observation_has_its_place_its_text_and_its_trace() -> None:
    (seen,) = branches("total = x.sum()\nif total > 0:\n    x = -x")
    head = PRELUDE.count("\n")
    assert (seen.span.line - head, seen.text, seen.symbol) == (4, "total > 0", "model.M.forward")
    assert [step.line - head for step in seen.trace] == [2, 3]
    assert seen.exporters == ("torchscript", "dynamo")


def test_what_only_a_flag_asks_for_is_not_sure() -> None:
    (seen,) = branches("if flag:\n    if x.sum() > 0:\n        x = -x")
    assert (seen.sure, seen.doubt) == (False, "flag")


@pytest.mark.parametrize(("guard", "exporters"), [("", ("torchscript", "dynamo")), ("not ", ())])
def test_what_no_exporter_comes_to_is_not_observed(guard: str, exporters: tuple[str, ...]) -> None:
    seen = branches(f"if {guard}torch.onnx.is_in_onnx_export():\n    if x.sum() > 0:\n        x = -x")
    assert tuple(e for one in seen for e in one.exporters) == exporters


def test_loops_and_calls_at_one_place_are_one_observation() -> None:
    assert len(branches("for _ in range(3):\n    if x.sum() > 0:\n        x = -x")) == 1
