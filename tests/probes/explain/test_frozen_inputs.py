"""Right exports with a table or a loop that a fixed size decided, or without an input; and their neighbours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from probing import BATCH, FOLDER, hazard, lines, named, outcomes, probed

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.probe_records import SYNTHESISED, ProbeResult
from onnxlint.base.records import Cause, Outcome, Severity, VerdictKind
from onnxlint.probes.process.worker import run_probe
from onnxlint.verdicts import join

pytestmark = pytest.mark.slow
MODULE = "swallowing"
TWO = {"x": {0: "batch"}, "weight": {0: "batch"}}


def codes(result: ProbeResult) -> set[str]:
    findings = join((), [result], lambda _, line: (line, line), load_catalogue(), is_checked=lambda _: True)
    assert all((f.severity, f.verdict) == (Severity.WARNING, VerdictKind.SUSPECTED) for f in findings)
    return {finding.code for finding in findings}


def test_a_table_is_told_with_the_line_that_computes_it_and_the_axis_that_decides(tmp_path: Path) -> None:
    result = run_probe(hazard("Grid", tmp_path, inputs="pixels", dynamic=BATCH, module=MODULE))
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    assert not named(result, "torchscript", MODULE)  # it computes the table anew with every run
    results = named(result, "dynamo", MODULE)
    assert list(results) == lines("Grid", "# here", MODULE)
    for evidence in results.popitem()[1]:
        assert (evidence.cause, evidence.symptom) == (Cause.TABLE, Outcome.OK)
        assert "420 × 440 numbers" in evidence.detail
        assert "axis 3 of `x`, which is fixed at 440" in evidence.detail
    assert codes(result) == {"ONX713"}


@pytest.mark.parametrize("factory", ["Table", "Kept"])
def test_a_table_of_the_models_own_is_none(factory: str, tmp_path: Path) -> None:
    result = run_probe(hazard(factory, tmp_path, inputs="pixels", dynamic=BATCH, module=MODULE))
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    assert result.evidence == ()


def test_an_input_that_the_graph_refuses_is_told(tmp_path: Path) -> None:
    result = run_probe(hazard("Ignoring", tmp_path, inputs="both", dynamic={"x": {0: "batch"}}, module=MODULE))
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    results = named(result, "torchscript", MODULE)
    assert list(results) == lines("Ignoring", "# here", MODULE)
    assert not named(result, "dynamo", MODULE)  # which keeps what it does not need
    ((evidence,),) = results.values()
    assert evidence.detail.startswith("`weight` is not an input of the graph")
    assert codes(result) == {"ONX708"}


def test_an_input_that_is_used_or_that_we_made_up_is_none(tmp_path: Path) -> None:
    assert run_probe(hazard("Using", tmp_path, inputs="both", dynamic=TWO, module=MODULE)).evidence == ()
    probe = hazard("Ignoring", tmp_path, dynamic={}, module=MODULE)
    assert run_probe(replace(probe, source=SYNTHESISED, inputs=None)).evidence == ()


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
