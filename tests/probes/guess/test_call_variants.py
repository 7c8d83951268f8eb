"""Optional tensors both ways: with what the example left out, without what it gave, each a probe of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from probing import FOLDER, lines, unknown

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import ModelReport, ModelStatus, Outcome, from_json, to_json
from onnxlint.base.specs import format_spec, parse_spec
from onnxlint.config.settings import load_settings
from onnxlint.probes.common import stages
from onnxlint.probes.examples.examples import build_model
from onnxlint.probes.guess.call_variants import find_ways
from onnxlint.probes.guess.synthesise import synthesise
from onnxlint.probes.process.process_ends import Death, result_of
from onnxlint.probes.process.worker import run_probe
from onnxlint.probes.schedule.plan import further
from onnxlint.report.formats.as_json import as_json
from onnxlint.run.pipeline import run_check

MODULE = "called_ways"


def assumed(name: str) -> Probe:
    return synthesise(unknown(name, MODULE))[0]


def declared(name: str, **inputs: str) -> Probe:
    specs = {parameter: parse_spec(spec) for parameter, spec in inputs.items()}
    return replace(unknown(name, MODULE), source="config", inputs=specs, optional=True)


def ways(probe: Probe) -> dict[str, dict[str, str]]:
    found = find_ways(probe, build_model(probe).eval(), 10.0)
    return {way.label: {name: format_spec(spec) for name, spec in way.inputs.items()} for way in found}


def test_an_optional_tensor_that_was_left_out_is_given_and_no_answer_to_compare_with() -> None:
    assert ways(assumed("Masked")) == {
        "with mask": {"input_ids": "int64[batch=2, sequence=8]", "mask": "bool[batch=2, sequence=8]"}
    }


@pytest.mark.parametrize("name", ["Unread", "Fragile"])
def test_nothing_is_tried_further_that_changes_nothing_or_does_not_run(name: str) -> None:
    assert not ways(assumed(name))


def test_no_more_than_two_ways_are_tried_masks_first() -> None:
    assert list(ways(assumed("Many"))) == ["with key_mask", "with pos"]


def test_what_is_declared_is_left_out_too_and_its_dims_stay() -> None:
    both = declared("Named", x="float32[rows, 6]", bias="float32[rows, 6]")
    assert ways(both) == {"without bias": {"x": "float32[rows=7, 6]"}}
    one = declared("Named", x="float32[rows=4, 6]")
    assert ways(one) == {"with bias": {"x": "float32[rows=4, 6]", "bias": "float32[rows=4, 6]"}}


def test_a_declared_model_that_feeds_itself_is_left_alone() -> None:
    probe = declared("Named", x="float32[rows, 6]")
    assert not ways(replace(probe, vary=f"{MODULE}:vary"))
    assert not ways(replace(probe, inputs=f"{MODULE}:inputs"))


@pytest.mark.slow
def test_a_fault_that_only_the_further_way_has_is_told_with_it(tmp_path: Path) -> None:
    probe = replace(unknown("Masked", MODULE), repro_dir=str(tmp_path))
    base = run_probe(probe)
    assert {cell.outcome for cell in base.report.exporters.values()} == {Outcome.OK}
    assert not base.evidence
    assert from_json(ProbeResult, to_json(base)) == base
    (way,) = base.ways
    result = run_probe(further(probe, way))
    assert result.report.way == "with mask"
    assert result.report.name == f"{MODULE}:Masked [with mask]"
    assert Outcome.OK not in {cell.outcome for cell in result.report.exporters.values()}
    (line,) = lines("Masked", "# masked", MODULE)
    assert {e.frames[0].line for e in result.evidence if e.frames} == {line}
    assert all("called with mask" in e.detail for e in result.evidence)
    assert result.report.assumed is not None
    assert 'mask = "bool[batch=2, sequence=8]"' in result.report.assumed.config
    assert "a further way to call it: with mask" in result.report.assumed.config
    assert not result.ways


@pytest.mark.slow
def test_what_differs_by_chance_is_no_further_way(tmp_path: Path) -> None:
    assert not run_probe(replace(unknown("Chance", MODULE), repro_dir=str(tmp_path))).ways


@pytest.mark.slow
def test_a_declared_model_is_tried_further_where_that_is_asked_for(tmp_path: Path) -> None:
    probe = replace(declared("Masked", input_ids="int64[batch, sequence]"), repro_dir=str(tmp_path))
    assert not run_probe(replace(probe, optional=False)).ways
    (way,) = run_probe(probe).ways
    result = run_probe(further(probe, way))
    assert result.report.assumed is None
    (line,) = lines("Masked", "# masked", MODULE)
    assert line in {e.frames[0].line for e in result.evidence if e.frames}


def test_the_end_of_a_process_that_tries_further_ways_takes_nothing_from_its_probe() -> None:
    finished = ProbeResult(ModelReport(f"{MODULE}:Masked", "m.py", 1, ModelStatus.PROBED))
    died = Death(Outcome.CRASH, "the process was killed", stages.WAYS)
    assert result_of(unknown("Masked", MODULE), finished, died) == finished
    result = result_of(unknown("Masked", MODULE), finished, replace(died, stage="exporting with dynamo"))
    assert {cell.outcome for cell in result.report.exporters.values()} == {Outcome.CRASH}


def check(tmp_path: Path, **options: Any) -> Any:
    (tmp_path / "model.py").write_text((FOLDER / f"{MODULE}.py").read_text().partition("class Unread")[0])
    (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\n")
    settings, _ = load_settings(tmp_path, overrides={"repro_dir": tmp_path / ".onnxlint", "cache": False, **options})
    return run_check([tmp_path], settings)


@pytest.mark.slow
def test_a_further_way_is_a_model_of_its_own_within_max_models(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    report = check(tmp_path)
    assert [model.name for model in report.models] == ["model:Masked", "model:Masked [with mask]"]
    (finding,) = (f for f in report.findings if f.evidence)
    assert finding.code == "ONX101"
    assert {e.model for e in finding.evidence} == {"model:Masked [with mask]"}
    assert "with mask" in [model.get("way") for model in as_json(report, report)["models"]]
    alone = check(tmp_path, max_models=1)
    assert [model.name for model in alone.models] == ["model:Masked"]
    (left,) = alone.diagnostics
    assert "model:Masked [with mask] is not probed; --max-models 2" in left.message
