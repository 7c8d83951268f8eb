"""Which side is wrong: who agrees with whom on a confirmed disagreement, and what a user is told to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from probing import hazard, probed

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import ONNX_RUNTIME, OPENVINO, Fault, Sides, from_json, to_json
from onnxlint.probes.confirm.engines import ORT, OpenVino, Setup
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.explain import disagreement as module
from onnxlint.probes.explain.disagreement import CAPTURED, PYTORCH, REFERENCE
from onnxlint.probes.process.worker import run_probe

PLAIN = "ONNX Runtime without optimizations"
FILE = {"ONNX Runtime", PLAIN, REFERENCE}


def message(result: ProbeResult, exporter: str) -> Sides:
    results = [e.sides for e in result.evidence if e.exporter == exporter and e.sides is not None]
    assert results, [e.exporter for e in result.evidence]
    return results[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "exporter", "options", "with_pytorch", "fault"),
    [
        ("Branch", "torchscript", {}, set(), Fault.MODEL),
        ("DimBranch", "dynamo", {}, set(), Fault.MODEL),
        ("IntBatch", "torchscript", {}, set(), Fault.MODEL),
        ("Counter", "torchscript", {}, set(), Fault.MODEL),
        ("Flag", "dynamo", {"inputs": "with_flag", "vary": "vary_flag"}, set(), Fault.USE),
        ("RepeatedIndex", "torchscript", {}, {"traced graph"}, Fault.EXPORTER),
    ],
)
def test_the_first_side_that_leaves_pytorch_is_at_fault(
    factory: str, exporter: str, options: Mapping[str, Any], with_pytorch: set[str], fault: Fault, tmp_path: Path
) -> None:
    result = run_probe(hazard(factory, tmp_path, exporters=(exporter,), **options))
    results = message(result, exporter)
    assert set(results.groups[0]) == {PYTORCH} | with_pytorch
    others = {side for group in results.groups[1:] for side in group} | set(results.refused)
    assert others == FILE | ({CAPTURED[exporter]} - with_pytorch)
    assert results.fault is fault
    assert results.advice
    assert from_json(ProbeResult, to_json(result)) == result
    upstream = fault is Fault.EXPORTER
    assert (results.issue is not None) is upstream, "a report to paste is there for what others have to mend, only"
    if results.issue is not None:
        text = Path(results.issue).read_text()
        assert all(
            words in text for words in ("| PyTorch |", "torch 2", "```python", f"class {factory}", results.advice[1:])
        )
        script = Path(str(result.evidence[0].repro)).read_text().rstrip()
        assert script in text


@pytest.mark.slow
def test_what_is_right_has_no_sides_and_what_is_refused_by_the_exporter_has_none(tmp_path: Path) -> None:
    assert run_probe(hazard("Linear", tmp_path)).evidence == ()
    refused = run_probe(hazard("Unsupported", tmp_path))
    assert refused.evidence
    assert all(e.sides is None for e in refused.evidence)


@pytest.mark.slow
def test_the_report_of_an_earlier_run_does_not_stay_where_it_no_longer_holds(tmp_path: Path) -> None:
    stale = tmp_path / "hazards-Branch-torchscript-1" / "issue.md"
    stale.parent.mkdir()
    stale.write_text("the exporter is at fault")
    result = run_probe(hazard("Branch", tmp_path, exporters=("torchscript",)))
    assert message(result, "torchscript").issue is None
    assert Path(str(result.evidence[0].repro)).parent == stale.parent
    assert not stale.exists()


@pytest.mark.slow
def test_a_runtime_that_is_alone_is_at_fault(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    for exporter, captured in CAPTURED.items():
        results = message(
            probed("Wide", "ids", "ids", tmp_path, runtimes=(ONNX_RUNTIME, OPENVINO), exporters=(exporter,)), exporter
        )
        assert (set(results.groups[0]), results.groups[1:]) == ({PYTORCH, captured, *FILE}, (("OpenVINO",),))
        assert results.fault is Fault.RUNTIME
        assert "openvinotoolkit/openvino" in results.advice


@pytest.mark.slow
def test_a_side_that_cannot_be_asked_is_not_known_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = message(probed("Brain", "brain", "x", tmp_path, exporters=("torchscript",)), "torchscript")
    assert results.unknown == {REFERENCE: "numpy has no bfloat16"}
    assert set(results.refused) == {"ONNX Runtime", PLAIN}
    assert results.fault is Fault.RUNTIME
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    monkeypatch.setattr(onnx.reference.ReferenceEvaluator, "run", endless)
    results = message(run_probe(hazard("RepeatedIndex", tmp_path, exporters=("torchscript",))), "torchscript")
    assert "more than" in results.unknown[REFERENCE]
    assert results.fault is Fault.UNKNOWN, "the exporter or the runtime: nobody could tell"
    assert "nobody else could be asked" in results.advice


def endless(*_: object) -> None:
    while True:
        pass


def judged(argument: tuple[str, ...], mine: tuple[str, ...], setups: list[Setup]) -> Fault:
    answers = module._Answers({side: [] for side in argument})
    case = module._Case("dynamo", on_example=False, mutates=False, branches=False, fixed=(), loads=True)
    return module._judge(case, answers, mine, setups)[0]


def test_optimizations_alone_are_told_from_the_runtime_and_from_the_file() -> None:
    setups = [Setup(ORT), Setup(ORT, optimized=False)]
    every = (PYTORCH, "exported program", REFERENCE, *(setup.title for setup in setups))
    program = (PYTORCH, "exported program")
    assert judged(every, (*program, REFERENCE, PLAIN), setups) is Fault.OPTIMIZER
    assert judged(every, (*program, REFERENCE), setups) is Fault.RUNTIME
    assert judged(every, program, setups) is Fault.EXPORTER
    assert judged(every, (PYTORCH,), setups) is Fault.MODEL
    assert judged(tuple(side for side in every if side != REFERENCE), program, setups) is Fault.UNKNOWN


def test_a_second_runtime_that_is_right_clears_the_file() -> None:
    pytest.importorskip("openvino")
    setups = [Setup(ORT), Setup(ORT, optimized=False), Setup(OpenVino())]
    program = (PYTORCH, "exported program")
    assert judged((*program, *(s.title for s in setups)), (*program, "OpenVINO"), setups) is Fault.RUNTIME


def test_a_large_file_is_not_given_to_the_reference_evaluator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", [x], [y])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    monkeypatch.setattr(module, "_LARGEST", 1)
    answers = module._Answers()
    module._reference(Runtime(tmp_path / "m.onnx"), {}, answers)
    assert "too large" in answers.unknown[REFERENCE]
