"""What eager computes before and after the source was changed: kept at first, then told where it differs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from probing import hazard

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Cause, ModelStatus, Outcome
from onnxlint.probes.observe.eager_outputs import compare_outputs

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        if x.shape[0] > 4:
            return x.sum(0)
        return x * 2

def x23():
    return (torch.ones(2, 3),)
"""


def compared(folder: Path, source: str) -> ProbeResult:
    """What comes out for this source, in a process that has not seen it before."""
    (folder / "compared_model.py").write_text(source)
    sys.modules.pop("compared_model", None)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode  # a change within a second would not be seen
    try:
        probe = hazard("Net", folder / "repro", module="compared_model")
        told: list[ProbeResult] = []
        asked = replace(probe, search_path=(str(folder),), root=str(folder), compare=str(folder / "outputs.pt"))
        result = compare_outputs(asked, told.append)
    finally:
        sys.dont_write_bytecode = before
    assert told == [result]
    return result


def test_the_first_run_keeps_what_comes_out_and_another_rounding_is_no_change(tmp_path: Path) -> None:
    first = compared(tmp_path, MODEL)
    assert (first.report.status, first.evidence) == (ModelStatus.PROBED, ())
    assert (tmp_path / "outputs.pt").is_file()
    assert first.reached["compared_model.py"]
    rounded = MODEL.replace("return x * 2", "return x * 2.00001")
    assert compared(tmp_path, rounded).evidence == ()


def test_a_change_is_told_with_the_inputs_that_show_it(tmp_path: Path) -> None:
    compared(tmp_path, MODEL)
    evidence = compared(tmp_path, MODEL.replace("x.sum(0)", "x.mean(0)")).evidence
    assert {(e.cause, e.symptom, e.variation) for e in evidence} == {
        (Cause.MISMATCH, Outcome.WRONG_VALUES, "batch=5"),
    }
    assert {e.detail for e in evidence} == {"eager gives another output"}


@pytest.mark.parametrize("changed", ["return x.double() * 2.01", "return (x * 2).double()[:, :2]"])
def test_a_change_of_all_outputs_is_told_of_the_example_too(tmp_path: Path, changed: str) -> None:
    compared(tmp_path, MODEL)
    evidence = compared(tmp_path, MODEL.replace("return x * 2", changed)).evidence
    assert "example" in [e.variation for e in evidence]
    assert "batch=5" not in [e.variation for e in evidence]


def test_an_input_that_is_refused_now_is_a_change(tmp_path: Path) -> None:
    compared(tmp_path, MODEL)
    (evidence,) = compared(tmp_path, MODEL.replace("return x.sum(0)", "raise KeyError")).evidence
    assert (evidence.variation, evidence.detail) == ("batch=5", "eager raises KeyError where it did not")


def test_nothing_is_said_of_chance_and_of_other_inputs(tmp_path: Path) -> None:
    compared(tmp_path, MODEL.replace("x * 2", "x * torch.rand(3)"))
    assert compared(tmp_path, MODEL.replace("x * 2", "x * torch.rand(3) + 9")).evidence == ()
    (tmp_path / "outputs.pt").unlink()
    compared(tmp_path, MODEL)
    other = MODEL.replace("torch.ones(2, 3)", "torch.full((2, 3), 5.0)").replace("x * 2", "x * 3")
    assert "example" not in [e.variation for e in compared(tmp_path, other).evidence]


def test_a_model_that_can_no_longer_be_built_is_not_probed_with_the_reason(tmp_path: Path) -> None:
    compared(tmp_path, MODEL)
    broken = compared(tmp_path, MODEL.replace("torch.nn.Linear(3, 3)", "torch.nn.Linear()"))
    assert broken.report.status is ModelStatus.NOT_PROBED
    assert "in_features" in (broken.report.reason or "")
    assert broken.evidence == ()
