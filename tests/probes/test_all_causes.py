"""One run names everything that stops an exporter, each at its line, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from probing import FOLDER, hazard, lines, named, outcomes

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Cause, Outcome
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow
MODULE = "many_causes"


def probe(factory: str, folder: Path, inputs: str = "x26", exporters: tuple[str, ...] = ("dynamo",)) -> ProbeResult:
    return run_probe(hazard(factory, folder, inputs=inputs, exporters=exporters, module=MODULE))


def marked(factory: str, mark: str = "# here") -> set[int]:
    return set(lines(factory, mark, MODULE))


def test_five_operators_are_named_by_both_exporters(tmp_path: Path) -> None:
    result = probe("Operators", tmp_path, "x66", ("torchscript", "dynamo"))
    assert set(outcomes(result).values()) == {"export-error"}
    for exporter in ("torchscript", "dynamo"):
        assert set(named(result, exporter, MODULE)) == marked("Operators"), exporter
        assert len(marked("Operators")) == 5


def test_torchscript_is_carried_past_operators_to_failing_lowerings_and_frozen_values(tmp_path: Path) -> None:
    found = named(probe("Mixed", tmp_path, exporters=("torchscript",)), "torchscript", MODULE)
    assert set(found) == marked("Mixed", "# torchscript") | marked("Mixed", "# both")
    causes = [found[line][0].cause for line in sorted(found)]
    assert causes == [Cause.BRANCH, *[Cause.REFUSED] * 3, *[Cause.ESCAPE] * 2]
    pooled = found[sorted(found)[3]][0].detail
    assert "adaptive_avg_pool2d, input size not accessible" in pooled  # the batch is dynamic
    assert "Caused by" not in pooled


def test_a_memo_that_the_first_run_fills_is_no_cause(tmp_path: Path) -> None:
    for _ in range(2):  # the second time it is filled already
        found = named(probe("Remembering", tmp_path, "x66", ("torchscript",)), "torchscript", MODULE)
        assert set(found) == marked("Remembering")


def test_the_line_that_registers_a_buffer_in_forward_is_named(tmp_path: Path) -> None:
    result = probe("Registering", tmp_path)
    assert outcomes(result)["dynamo"] == "export-error"
    assert set(named(result, "dynamo", MODULE)) == marked("Registering")


@pytest.mark.parametrize("model", ["Windows", "Transposed"])
def test_what_is_wrong_before_the_node_that_does_not_load_is_named(model: str, tmp_path: Path) -> None:
    result = probe(model, tmp_path, "x285", exporters=("torchscript",))
    assert outcomes(result)["torchscript"] == "runtime-error"
    found = named(result, "torchscript", MODULE)
    assert set(found) == marked(model)
    assert "further on" in next(iter(found.values()))[0].detail


def test_operators_between_masks_are_not_taken_for_unsupported(tmp_path: Path) -> None:
    result = probe("Masked", tmp_path, exporters=("torchscript",))
    assert outcomes(result)["torchscript"] == "export-error"
    assert set(named(result, "torchscript", MODULE)) == marked("Masked")


def test_the_operator_whose_translation_raises_is_named(tmp_path: Path) -> None:
    result = probe("FiveDimensions", tmp_path, "x284")
    assert outcomes(result)["dynamo"] == "export-error"
    found = named(result, "dynamo", MODULE)
    assert set(found) == marked("FiveDimensions")
    assert "only 4D" in next(iter(found.values()))[0].detail


def test_the_node_that_fails_is_named_where_the_runtime_has_merged_it_with_others(tmp_path: Path) -> None:
    dynamic = {"x": {0: "batch", 1: "tokens"}}
    merged = hazard("Merged", tmp_path, "x268", dynamic, exporters=("torchscript",), module=MODULE)
    result = run_probe(merged)
    assert outcomes(result)["torchscript"] == "runtime-error"
    assert "MatMulScaleFusion" in result.report.exporters["torchscript"].detail
    assert set(named(result, "torchscript", MODULE)) == marked("Merged")


def test_dynamo_refuses_of_the_same_model_the_branch_alone(tmp_path: Path) -> None:
    result = probe("Mixed", tmp_path)
    assert set(named(result, "dynamo", MODULE)) == marked("Mixed", "# both")


def test_dynamo_is_carried_past_data_to_the_operators(tmp_path: Path) -> None:
    found = named(probe("Reads", tmp_path), "dynamo", MODULE)
    assert set(found) == marked("Reads")
    assert all(any(e.cause is Cause.REFUSED for e in evidence) for evidence in found.values())
    told = {e.detail for evidence in found.values() for e in evidence}
    assert any("numpy array" in detail for detail in told)
    assert any("whether a tensor is true" in detail or "Could not guard" in detail for detail in told)
    assert any("aten.median" in detail for detail in told)


def test_sizes_that_are_fixed_behind_a_read_are_named(tmp_path: Path) -> None:
    found = named(probe("Sizes", tmp_path), "dynamo", MODULE)
    assert set(found) == marked("Sizes")
    assert [found[line][0].cause for line in sorted(found)] == [Cause.REFUSED, Cause.GUARD, Cause.REFUSED]


def test_a_size_that_dynamo_survives_is_not_named(tmp_path: Path) -> None:
    found = named(probe("SurvivedSize", tmp_path), "dynamo", MODULE)
    assert set(found) == marked("SurvivedSize")


def test_what_the_capture_came_by_without_stopping_is_no_cause(tmp_path: Path) -> None:
    found = named(probe("Guarded", tmp_path), "dynamo", MODULE)
    assert set(found) == marked("Guarded")


def test_behind_dropout_the_other_causes_show_with_scripts_that_show_them_again(tmp_path: Path) -> None:
    before = torch.nn.functional.dropout
    result = probe("Chance", tmp_path, exporters=("torchscript",))
    assert torch.nn.functional.dropout is before
    assert outcomes(result) == {"torchscript": "nondeterministic"}
    found = named(result, "torchscript", MODULE)
    assert set(found) == marked("Chance") | marked("Chance", "# chance")
    for line in marked("Chance"):
        (evidence,) = found[line]
        assert evidence.symptom is Outcome.WRONG_VALUES
        assert evidence.detail.endswith("(with dropout held still)")
        assert evidence.repro is not None
        done = subprocess.run([sys.executable, FOLDER / evidence.repro], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr


def test_other_draws_are_not_held_still(tmp_path: Path) -> None:
    result = probe("Drawn", tmp_path, exporters=("torchscript",))
    assert {e.cause for e in result.evidence if e.exporter == "torchscript"} == {Cause.RANDOM}


def test_a_branch_that_the_trace_does_not_take_is_no_cause(tmp_path: Path) -> None:
    found = named(probe("GuardedTrace", tmp_path, exporters=("torchscript",)), "torchscript", MODULE)
    assert set(found) == marked("GuardedTrace")


def test_a_batch_of_one_is_no_condition_of_the_exporter(tmp_path: Path) -> None:
    found = named(probe("OneRow", tmp_path, "one_row"), "dynamo", MODULE)
    assert set(found) == marked("OneRow")


def test_an_operator_in_a_function_that_forward_calls_is_named_there(tmp_path: Path) -> None:
    result = probe("Helped", tmp_path)
    (evidence,) = [e for e in result.evidence if e.cause is Cause.REFUSED]
    (line,) = lines("helper", "# helped", MODULE)
    assert evidence.frames[0].line == line
    assert evidence.frames[1].function == "Helped.forward"


def test_where_an_export_takes_much_of_the_time_there_is_no_second_look(tmp_path: Path) -> None:
    hurried = replace(hazard("Reads", tmp_path, inputs="x26", exporters=("dynamo",), module=MODULE), timeout=0.001)
    found = named(run_probe(hurried), "dynamo", MODULE)
    first, *_ = sorted(marked("Reads"))
    assert {line for line in found if any(e.cause is Cause.REFUSED for e in found[line])} == {first}


def test_every_translation_that_raises_is_named_beside_operators_that_have_none(tmp_path: Path) -> None:
    found = named(probe("ThreeDimensions", tmp_path, "x285"), "dynamo", MODULE)
    assert set(found) == marked("ThreeDimensions")
    assert len(found) == 3


def test_what_the_optimizer_of_the_exporter_trips_over_is_named(tmp_path: Path) -> None:
    result = probe("Halves", tmp_path, "x66")
    assert outcomes(result)["dynamo"] == "export-error"
    assert set(named(result, "dynamo", MODULE)) == marked("Halves")
