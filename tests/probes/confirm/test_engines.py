"""Several runtimes and opsets: who disagrees is named, who cannot be asked is told, and the graph is not blamed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from probing import FOLDER, outcomes, probed

from onnxlint.base.records import ONNX_RUNTIME, OPENVINO, Cause, Outcome
from onnxlint.probes.confirm.engines import engines, session_options, short
from onnxlint.probes.confirm.outcomes import other_opset
from onnxlint.probes.exporters import Export

BOTH = (ONNX_RUNTIME, OPENVINO)


def line(factory: str) -> int:
    text = (FOLDER / "runtimes.py").read_text().splitlines()
    start = text.index(f"class {factory}(nn.Module):")
    return next(n for n, words in enumerate(text[start:], start + 1) if words.endswith("# here"))


@pytest.mark.slow
def test_a_runtime_that_answers_otherwise_is_named_and_the_graph_is_not_blamed(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    alone = probed("Wide", "ids", "ids", tmp_path)
    assert outcomes(alone) == {"torchscript": "ok", "dynamo": "ok"}
    result = probed("Wide", "ids", "ids", tmp_path, runtimes=BOTH)
    assert outcomes(result) == {"torchscript": "wrong-values", "dynamo": "wrong-values"}
    assert {(e.cause, e.runtime, e.frames[0].line) for e in result.evidence} == {
        (Cause.MISMATCH, "OpenVINO", line("Wide"))
    }
    assert "OpenVINO" in result.report.exporters["dynamo"].detail
    assert result.versions["openvino"]
    assert "openvino" not in alone.versions
    for evidence in result.evidence:
        done = subprocess.run([sys.executable, str(evidence.repro)], capture_output=True, text=True, check=False)
        assert (done.returncode, "OpenVINO" in done.stdout) == (1, True), done.stdout + done.stderr


@pytest.mark.slow
def test_a_runtime_without_an_operator_refuses_at_its_line_though_the_other_agrees(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    result = probed("Determinant", "square", "x", tmp_path, runtimes=BOTH)
    assert outcomes(result) == {"torchscript": "runtime-error", "dynamo": "runtime-error"}
    assert {(e.cause, e.runtime, e.frames[0].line) for e in result.evidence} == {
        (Cause.RUNTIME, "OpenVINO", line("Determinant"))
    }
    assert all("Det" in e.detail and "failed at src" not in e.detail for e in result.evidence)


@pytest.mark.slow
def test_what_onnx_runtime_cannot_run_the_other_may_run_right(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    ours = probed("Brain", "brain", "x", tmp_path, exporters=("torchscript",))
    theirs = probed("Brain", "brain", "x", tmp_path, exporters=("torchscript",), runtimes=(OPENVINO,))
    assert outcomes(ours) == {"torchscript": "runtime-error"}
    assert outcomes(theirs) == {"torchscript": "ok"}


@pytest.mark.slow
def test_a_graph_that_is_wrong_everywhere_is_told_of_once_at_its_cause(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    result = probed("Gate", "x24", "x", tmp_path, exporters=("torchscript",), runtimes=BOTH)
    assert outcomes(result) == {"torchscript": "wrong-values"}
    assert [(e.cause, e.runtime, e.frames[0].line) for e in result.evidence] == [(Cause.BRANCH, "", line("Gate"))]


@pytest.mark.slow
def test_a_provider_is_taken_by_name_and_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    argument = {"exporters": ("torchscript",)}
    azure = probed("Gate", "x24", "x", tmp_path, runtimes=("AzureExecutionProvider",), **argument)
    assert outcomes(azure) == {"torchscript": "wrong-values"}
    assert {e.runtime for e in azure.evidence} == {"ONNX Runtime (AzureExecutionProvider)"}
    assert {e.runtime for e in probed("Gate", "x24", "x", tmp_path, **argument).evidence} == {""}
    missing = probed("Gate", "x24", "x", tmp_path, runtimes=("NoSuchExecutionProvider",), **argument)
    assert outcomes(missing) == {"torchscript": "skipped"}
    (notice,) = missing.notices
    assert notice.level == "error"
    assert "NoSuchExecutionProvider" in notice.message
    assert "CPUExecutionProvider" in notice.message, "it says what there is"


def test_a_provider_that_falls_back_to_the_cpu_is_not_taken_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    native = onnxruntime.InferenceSession
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda model, options, providers: native(model, session_options(True), providers=providers[-1:]),
    )
    results, faults = engines(["CUDAExecutionProvider"])
    assert results == []
    assert "falls back to CPUExecutionProvider" in faults[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opset", "torchscript", "dynamo", "says"),
    [
        (13, "ok", "skipped", "asked for opset 13 and wrote 18"),
        (18, "ok", "ok", ""),
        (25, "skipped", "ok", "writes opsets 7 to 23, not 25"),
    ],
)
def test_an_opset_that_an_exporter_cannot_give_is_one_message(
    opset: int, torchscript: str, dynamo: str, says: str, tmp_path: Path
) -> None:
    result = probed("Split", "x24", "x", tmp_path, opset=opset)
    assert outcomes(result) == {"torchscript": torchscript, "dynamo": dynamo}
    assert result.evidence == ()
    assert [(n.level, says in n.message, "hazards" in n.message) for n in result.notices] == (
        [("warning", True, False)] if says else []
    )


@pytest.mark.slow
def test_an_opset_that_no_exporter_gives_fails_the_run(tmp_path: Path) -> None:
    result = probed("Split", "x24", "x", tmp_path, opset=99, exporters=("torchscript",))
    assert [n.level for n in result.notices] == ["error"]
    assert result.report.exporters["torchscript"].outcome is Outcome.SKIPPED


def test_an_exporter_that_raises_for_another_reason_is_not_excused_by_the_opset() -> None:
    assert other_opset(Export("torchscript", error="ValueError: no"), 20) == ""
    assert other_opset(Export("torchscript", error="RuntimeError: Unsupported onnx_opset_version: 24"), 24)
    assert other_opset(Export("dynamo", error="ValueError: no"), 12) == ""


def test_what_onnx_runtime_says_comes_without_the_places_in_its_source() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [3, 5])
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "shape"], ["y"], "node")], "g", [x], [y], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), session_options(True))
    with pytest.raises(Exception, match="Reshape node") as raised:
        session.run(None, {"x": np.zeros((2, 4), np.float32)})
    assert ".h:" in str(raised.value)
    line_ = short(raised.value)
    assert "Name:'node' Status Message: " in line_
    assert line_.endswith("Input shape:{2,4}, requested shape:{3,5}")
    assert ".h:" not in line_
    assert "onnxruntime::" not in line_
