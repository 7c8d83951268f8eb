"""The parts of the worker that need no export: outcome table, runtime."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from onnx import TensorProto, helper
from probing import hazard

from onnxlint.base.records import Location, Outcome
from onnxlint.probes.common.numerics import Difference
from onnxlint.probes.confirm.engines import ORT, RuntimeRefused, Setup
from onnxlint.probes.confirm.outcomes import judge
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial
from onnxlint.probes.exporters import Export
from onnxlint.probes.observe.eager import Eager, explore, prepare


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Eager:
    probe = hazard("Linear", tmp_path_factory.mktemp("kept"))
    prepared = prepare(probe)
    explore(probe, prepared)
    return prepared


def confirmation(eager: Eager, results: dict[str, Result]) -> Confirmation:
    found = Confirmation(Export("torchscript", Path("model.onnx")))
    for run in eager.accepted:
        result = results.get(run.label, Result.AGREES)
        gap = Difference(0, "off", 1.0, 1.0) if result is Result.VALUES else None
        found.trials.append(Trial(run, result, difference=gap, message=result.value))
    return found


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        ({}, Outcome.OK),
        ({"batch=3": Result.REFUSED}, Outcome.SHAPE_ERROR),
        ({"batch=3": Result.SHAPE}, Outcome.SHAPE_ERROR),
        ({"batch=3": Result.VALUES}, Outcome.WRONG_VALUES),
        ({"batch=1": Result.REFUSED, "batch=3": Result.VALUES}, Outcome.WRONG_VALUES),
        ({"values[normal#0]": Result.VALUES}, Outcome.WRONG_VALUES),
    ],
)
def test_the_most_serious_trial_decides(eager: Eager, results: dict[str, Result], outcome: Outcome) -> None:
    assert judge(eager, confirmation(eager, results))[0] is outcome


def test_a_dim_that_came_out_constant_is_told_as_such(eager: Eager) -> None:
    found = confirmation(eager, {"batch=1": Result.REFUSED, "batch=3": Result.REFUSED, "batch=5": Result.REFUSED})
    found.constant = [("x", 0, "batch")]
    outcome, detail = judge(eager, found)
    assert outcome is Outcome.STATIC_DIM
    assert "axis 0 of `x` (batch)" in detail
    found.trials[1] = Trial(eager.runs[0], Result.VALUES, message="off")
    assert judge(eager, found)[0] is Outcome.WRONG_VALUES


def test_what_stops_earlier_is_told_first(eager: Eager) -> None:
    found = confirmation(eager, {"batch=3": Result.VALUES})
    found.random = True
    assert judge(eager, found)[0] is Outcome.NONDETERMINISTIC
    found.refusal = "cannot load"
    assert judge(eager, found) == (Outcome.RUNTIME_ERROR, "cannot load")
    found.export.error = "no"
    assert judge(eager, found) == (Outcome.EXPORT_ERROR, "no")


def test_a_forward_that_only_reads_changes_nothing(eager: Eager) -> None:
    assert eager.mutated == []
    assert not eager.stateful
    assert not eager.random


def save(folder: Path, nodes: list[object], elem: int = TensorProto.FLOAT) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", elem, ["batch", 3])],
        [helper.make_tensor_value_info("y", elem, ["batch", "k"])],
    )
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))
    return path


def test_inputs_are_fed_by_leaf_in_the_type_that_the_graph_wants(tmp_path: Path) -> None:
    runtime = Runtime(save(tmp_path, [helper.make_node("Add", ["x", "x"], ["y"])]))
    runtime.check()
    feeds = runtime.feeds({"x": "batch.user"}, {"batch.user": torch.ones(2, 3, dtype=torch.float64), "other": 1})
    assert feeds["x"].dtype.name == "float32"
    for optimized in (True, False):
        (answer,) = runtime.run(feeds, Setup(ORT, optimized))
        assert answer.tolist() == [[2.0] * 3] * 2
    assert not runtime.constant_dims({"x": "x"}, "x", 0)
    assert runtime.constant_dims({"x": "x"}, "x", 1)
    with pytest.raises(RuntimeRefused, match="an input `x`"):
        runtime.feeds({"x": "gone"}, {"other": 1})


def test_bfloat16_goes_in_and_comes_out(tmp_path: Path) -> None:
    runtime = Runtime(save(tmp_path, [helper.make_node("Identity", ["x"], ["y"])], TensorProto.BFLOAT16))
    value = torch.tensor([[1.0, -2.5, 0.125]], dtype=torch.bfloat16)
    (answer,) = runtime.run(runtime.feeds({}, {"x": value}))
    assert torch.equal(answer, value)


def test_a_node_that_refuses_is_found_by_its_name(tmp_path: Path) -> None:
    doc = "/somewhere/model.py(12): forward\n"
    node = helper.make_node("MatMul", ["x", "x"], ["y"], name="/inner/MatMul", doc_string=doc)
    runtime = Runtime(save(tmp_path, [node]))
    with pytest.raises(RuntimeRefused) as refused:
        runtime.run({"x": torch.ones(2, 3).numpy()})
    assert runtime.frames(str(refused.value), "/somewhere") == (Location("model.py", 12, "forward"),)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    runtime = Runtime(save(tmp_path, [helper.make_node("Nonsense", ["x"], ["y"])]))
    with pytest.raises(RuntimeRefused, match="Nonsense"):
        runtime.check()
    with pytest.raises(RuntimeRefused, match="Nonsense"):
        runtime.session(Setup(ORT))
