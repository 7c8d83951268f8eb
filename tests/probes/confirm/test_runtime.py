"""One exported file in its runtimes: what goes in, what comes out, and which node refuses."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from onnx import TensorProto, helper

from onnxlint.base.records import Location
from onnxlint.probes.confirm.engines import ORT, RuntimeRefused, Setup
from onnxlint.probes.confirm.runtime import Runtime


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
    assert runtime.places(str(refused.value), "/somewhere") == [(Location("model.py", 12, "forward"),)]


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    runtime = Runtime(save(tmp_path, [helper.make_node("Nonsense", ["x"], ["y"])]))
    with pytest.raises(RuntimeRefused, match="Nonsense"):
        runtime.check()
    with pytest.raises(RuntimeRefused, match="Nonsense"):
        runtime.session(Setup(ORT))
