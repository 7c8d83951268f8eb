"""Half precision: noise is no error, an error is found all the same, and a missing kernel is said as that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from probing import hazard, lines, named, outcomes

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Cause
from onnxlint.probes.confirm.half_precision import missing_kernel, widen
from onnxlint.probes.process.worker import run_probe

MODULE = "half_models"


def probe(factory: str, folder: Path, inputs: str, exporters: tuple[str, ...], **options: Any) -> ProbeResult:
    return run_probe(hazard(factory, folder, inputs=inputs, exporters=exporters, module=MODULE, **options))


@pytest.mark.slow
def test_float16_that_is_right_is_right(tmp_path: Path) -> None:
    assert outcomes(probe("half_body", tmp_path, "half", ("dynamo",))) == {"dynamo": "ok"}


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_bfloat16_without_kernels_is_said_as_that_and_checked_in_float32(exporter: str, tmp_path: Path) -> None:
    result = probe("brain_body", tmp_path, "brain", (exporter,))
    cell = result.report.exporters[exporter]
    assert cell.outcome.value == "runtime-error"
    assert cell.detail.startswith("ONNX Runtime has no bfloat16 kernel for `")
    assert "with float32 in its place, the file agrees with eager on" in cell.detail
    assert cell.location is not None
    assert cell.location.path == f"{MODULE}.py"
    assert {e.cause for e in result.evidence} == {Cause.RUNTIME}


@pytest.mark.slow
@pytest.mark.parametrize(("factory", "inputs"), [("half_planted", "half"), ("brain_planted", "brain")])
def test_an_error_in_half_precision_is_found_at_its_line(factory: str, inputs: str, tmp_path: Path) -> None:
    result = probe(factory, tmp_path, inputs, ("torchscript",))
    assert outcomes(result) == {"torchscript": "wrong-values"}
    assert set(named(result, "torchscript", MODULE)) == set(lines("Planted", "# torchscript", MODULE))
    tried = "tried in float32: ONNX Runtime has no bfloat16 kernel" in result.report.exporters["torchscript"].detail
    assert tried is (inputs == "brain")


@pytest.mark.slow
def test_what_the_exporter_cannot_write_in_bfloat16_is_named(tmp_path: Path) -> None:
    result = probe("Attending", tmp_path, "brain", ("torchscript",))
    assert outcomes(result) == {"torchscript": "export-error"}
    assert set(named(result, "torchscript", MODULE)) == set(lines("Attending", "# torchscript", MODULE))


@pytest.mark.slow
def test_an_overflow_of_pytorch_alone_is_no_error(tmp_path: Path) -> None:
    result = probe("Overflow", tmp_path, "half", ("torchscript", "dynamo"))
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}


@pytest.mark.slow
def test_nan_and_infinity_agree_with_themselves(tmp_path: Path) -> None:
    dynamic = {"x": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}
    result = probe("FullyMasked", tmp_path, "rows", ("torchscript", "dynamo"), dynamic=dynamic)
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}


@pytest.mark.slow
def test_a_nan_that_the_runtime_swallows_is_told(tmp_path: Path) -> None:
    result = probe("SwallowedNaN", tmp_path, "full", ("torchscript", "dynamo"))
    for exporter, cell in result.report.exporters.items():
        assert cell.outcome.value == "wrong-values"
        assert "NaN in PyTorch's answer and not in the export's" in cell.detail
        assert set(named(result, exporter, MODULE)) == set(lines("SwallowedNaN", "# both", MODULE))


def model(kind: int) -> onnx.ModelProto:
    value = onnx.helper.make_tensor_value_info("x", kind, [2])
    cast = onnx.helper.make_node("Cast", ["x"], ["y"], to=kind)
    constant = onnx.helper.make_node("Constant", [], ["c"], value=onnx.helper.make_tensor("c", kind, [2], [1.0, 2.5]))
    add = onnx.helper.make_node("Add", ["y", "c"], ["z"])
    weight = onnx.helper.make_tensor("w", kind, [2], [0.5, 4.0])
    last = onnx.helper.make_node("Mul", ["z", "w"], ["out"])
    out = onnx.helper.make_tensor_value_info("out", kind, [2])
    graph = onnx.helper.make_graph([cast, constant, add, last], "g", [value], [out], [weight])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])


@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16])
def test_a_widened_file_holds_float32_alone_and_the_same_values(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(kind), str(path))
    results = widen(path)
    assert results is not None
    wide = onnx.load(str(results))
    onnx.checker.check_model(wide, full_check=True)
    assert wide.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert onnx.numpy_helper.to_array(wide.graph.initializer[0]).tolist() == [0.5, 4.0]
    assert onnx.numpy_helper.to_array(wide.graph.node[1].attribute[0].t).tolist() == [1.0, 2.5]
    assert wide.graph.node[0].attribute[0].i == onnx.TensorProto.FLOAT


def test_a_file_in_float32_is_not_widened(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(onnx.TensorProto.FLOAT), str(path))
    assert widen(path) is None


def test_another_refusal_is_left_in_the_runtime_s_words() -> None:
    half = model(onnx.TensorProto.FLOAT16)
    assert missing_kernel("[ONNXRuntimeError] : 1 : FAIL : something else", half) == ""
    missing = (
        "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Det(22) node with name 'n'"
    )
    assert missing_kernel(missing, model(onnx.TensorProto.FLOAT)) == ""
    assert missing_kernel(missing, half).startswith("ONNX Runtime has no float16 kernel for `Det`")
