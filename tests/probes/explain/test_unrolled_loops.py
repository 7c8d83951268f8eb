"""Loops that are written out: told where the graph grows with an input, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import FOLDER, hazard, outcomes, probed

from onnxlint.base.records import Cause, Outcome
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow


def test_a_loop_over_a_fixed_axis_is_told_with_its_line_and_axis(tmp_path: Path) -> None:
    result = probed("Unrolled", "long", "x", tmp_path)
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    text = (FOLDER / "runtimes.py").read_text().splitlines()
    here = next(n for n, line in enumerate(text, 1) if "self.inner(x[:, step])" in line)
    assert {e.exporter for e in result.evidence} == {"torchscript", "dynamo"}
    for evidence in result.evidence:
        assert (evidence.cause, evidence.symptom) == (Cause.UNROLLED, Outcome.OK)
        assert (evidence.frames[0].path, evidence.frames[0].line) == ("runtimes.py", here)
        assert "24 copies" in evidence.detail
        assert "axis 1 of `x`" in evidence.detail


@pytest.mark.parametrize("factory", ["Stack", "Again"])
def test_layers_and_repetitions_that_no_input_lengthens_are_none(factory: str, tmp_path: Path) -> None:
    result = probed(factory, "long", "x", tmp_path)
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    assert result.evidence == ()


def test_a_short_loop_is_none(tmp_path: Path) -> None:
    assert run_probe(hazard("Linear", tmp_path)).evidence == ()
