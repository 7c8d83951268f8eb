"""Each hazard through the whole worker: the outcome of each exporter, and the line that the evidence names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import hazard, lines, named, outcomes

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Cause, ModelStatus, from_json, to_json
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow

# factory, options, outcome of TorchScript and of dynamo, and for each failing exporter the cause at the marked line
TABLE: list[tuple[str, dict[str, Any], str, str, dict[str, Cause]]] = [
    ("Linear", {}, "ok", "ok", {}),
    ("Nested", {"inputs": "nested", "dynamic": {}}, "ok", "ok", {}),
    ("Branch", {}, "wrong-values", "export-error", {"torchscript": Cause.BRANCH, "dynamo": Cause.REFUSED}),
    ("Item", {}, "wrong-values", "ok", {"torchscript": Cause.ESCAPE}),
    ("IntBatch", {}, "shape-error", "ok", {"torchscript": Cause.ESCAPE}),
    ("DimBranch", {}, "wrong-values", "wrong-values", {"torchscript": Cause.BRANCH, "dynamo": Cause.GUARD}),
    ("UnrolledLoop", {}, "wrong-values", "export-error", {"torchscript": Cause.BRANCH, "dynamo": Cause.REFUSED}),
    ("TensorOfSize", {}, "wrong-values", "ok", {"torchscript": Cause.ESCAPE}),
    ("Noise", {}, "nondeterministic", "nondeterministic", {"torchscript": Cause.RANDOM, "dynamo": Cause.RANDOM}),
    ("PythonNoise", {}, "nondeterministic", "nondeterministic", {"torchscript": Cause.RANDOM, "dynamo": Cause.RANDOM}),
    ("LeftInTraining", {}, "ok", "nondeterministic", {"dynamo": Cause.RANDOM}),
    ("Counter", {}, "wrong-values", "wrong-values", {"torchscript": Cause.MUTATION, "dynamo": Cause.MUTATION}),
    ("RepeatedIndex", {}, "wrong-values", "ok", {"torchscript": Cause.MISMATCH}),
    (
        "Steps",
        {"inputs": "with_steps", "vary": "vary_steps"},
        "wrong-values",
        "export-error",
        {"torchscript": Cause.BRANCH, "dynamo": Cause.REFUSED},
    ),
    (
        "Flag",
        {"inputs": "with_flag", "vary": "vary_flag"},
        "wrong-values",
        "wrong-values",
        {"torchscript": Cause.INPUT_VANISHED, "dynamo": Cause.INPUT_VANISHED},
    ),
]


@pytest.mark.parametrize(
    ("factory", "options", "torchscript", "dynamo", "causes"), TABLE, ids=[row[0] for row in TABLE]
)
def test_outcome_and_line(
    factory: str,
    options: dict[str, Any],
    torchscript: str,
    dynamo: str,
    causes: dict[str, Cause],
    tmp_path: Path,
) -> None:
    result = run_probe(hazard(factory, tmp_path, **options))
    assert result.report.status is ModelStatus.PROBED
    expected = {"torchscript": torchscript, "dynamo": dynamo}
    assert outcomes(result) == expected
    assert {e.exporter for e in result.evidence} == set(causes), "an exporter that is right has no evidence"
    for exporter, cause in causes.items():
        results = named(result, exporter)
        assert set(results) == set(lines(factory)), "the marked line, and no other"
        evidence = results[lines(factory)[0]]
        assert cause in [e.cause for e in evidence]
        assert all(e.symptom.value == expected[exporter] and e.detail for e in evidence)
        assert result.report.exporters[exporter].location == evidence[0].frames[0]


@pytest.mark.parametrize(
    ("factory", "refusing"),
    [
        ("Cond", ["torchscript"]),
        ("Nested", ["torchscript"]),
        ("Scan", ["torchscript"]),
        ("While", ["torchscript"]),
        ("Map", ["torchscript", "dynamo"]),
        ("Spectrum", ["torchscript"]),
    ],
)
def test_control_flow_as_a_function_and_complex_inputs_are_probed(
    factory: str, refusing: list[str], tmp_path: Path
) -> None:
    inputs = "waves" if factory == "Spectrum" else "x23"
    result = run_probe(hazard(factory, tmp_path, inputs, module="higher_order"))
    assert [name for name, outcome in outcomes(result).items() if outcome == "export-error"] == refusing
    assert [name for name, outcome in outcomes(result).items() if outcome == "ok"] == ["dynamo"][len(refusing) - 1 :]
    for exporter in refusing:
        assert set(named(result, exporter, "higher_order")) == set(lines(factory, module="higher_order"))


def test_every_unsupported_operator_is_named_at_once(tmp_path: Path) -> None:
    result = run_probe(hazard("Unsupported", tmp_path))
    assert outcomes(result) == {"torchscript": "export-error", "dynamo": "export-error"}
    first, second = lines("Unsupported")
    assert set(named(result, "torchscript")) == {first, second}
    assert set(named(result, "dynamo")) == {second}


def test_a_refusal_does_not_hide_the_next_cause(tmp_path: Path) -> None:
    result = run_probe(hazard("TwoCauses", tmp_path))
    assert outcomes(result) == {"torchscript": "wrong-values", "dynamo": "export-error"}
    for exporter in ("torchscript", "dynamo"):
        assert set(named(result, exporter)) == set(lines("TwoCauses"))


def test_a_size_that_eager_itself_rejects_is_no_exporter_s_fault(tmp_path: Path) -> None:
    result = run_probe(hazard("EagerFixed", tmp_path))
    assert outcomes(result) == {"torchscript": "eager-error", "dynamo": "eager-error"}
    assert {e.exporter for e in result.evidence} == {"eager"}
    assert set(named(result, "eager")) == set(lines("EagerFixed"))


def test_modules_in_a_plain_list_are_named_where_the_list_is_made(tmp_path: Path) -> None:
    result = run_probe(hazard("evaluated_plain_list", tmp_path))
    assert outcomes(result) == {"torchscript": "export-error", "dynamo": "export-error"}
    for exporter in ("torchscript", "dynamo"):
        assert lines("PlainList")[0] in named(result, exporter)


def test_an_input_that_vanished_and_matters_is_wrong(tmp_path: Path) -> None:
    """The variations all carry the same flag; only the input that the trace ignored moves the answer."""
    result = run_probe(
        hazard("UnusedLength", tmp_path, inputs="with_list", vary="vary_list", exporters=("torchscript",))
    )
    assert outcomes(result) == {"torchscript": "wrong-values"}


def test_an_example_that_forward_rejects_is_told_with_its_line(tmp_path: Path) -> None:
    result = run_probe(hazard("Raises", tmp_path))
    assert result.report.status is ModelStatus.NOT_PROBED
    assert result.report.reason is not None
    assert f"hazards.py:{lines('Raises')[0]}" in result.report.reason
    assert result.report.remedy


def test_a_factory_that_does_not_exist_is_told(tmp_path: Path) -> None:
    result = run_probe(hazard("Brunch", tmp_path))
    assert result.report.status is ModelStatus.NOT_PROBED
    assert "Brunch" in (result.report.reason or "")
    assert "Branch" in (result.report.remedy or "")


def test_what_is_known_is_published_before_the_next_exporter_runs(tmp_path: Path) -> None:
    published: list[ProbeResult] = []
    result = run_probe(hazard("Item", tmp_path), published.append)
    sets = [tuple(p.report.exporters) for p in published]
    assert sets[0] == ()
    assert ("torchscript",) in sets
    assert published[-1] == result
    assert lines("Item")[0] in published[0].reached["hazards.py"]


def test_a_result_survives_the_pipe(tmp_path: Path) -> None:
    result = run_probe(hazard("DimBranch", tmp_path))
    assert from_json(ProbeResult, to_json(result)) == result
    assert {"torch", "onnx", "onnxruntime"} <= set(result.versions)
