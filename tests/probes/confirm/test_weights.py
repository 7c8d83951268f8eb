"""Weights that a file holds twice, and weights that it cannot hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from probing import FOLDER, outcomes, probed

from onnxlint.base.records import Cause
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.confirm.weights import Copy, copies_of, too_large
from onnxlint.probes.exporters import Export


def model(*tensors: TensorProto) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "one", [x], [x], initializer=tensors)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.slow
def test_the_second_copy_of_a_tied_weight_is_told_at_the_line_that_uses_it(tmp_path: Path) -> None:
    tied = probed("Tied", "words", "words", tmp_path)
    assert outcomes(tied) == {"torchscript": "ok", "dynamo": "ok"}
    text = (FOLDER / "runtimes.py").read_text().splitlines()
    here = text.index("        return self.head(hidden)  # here") + 1
    (evidence,) = tied.evidence
    assert (evidence.exporter, evidence.cause, evidence.frames[0].line) == ("torchscript", Cause.WEIGHTS, here)
    assert "`table.weight` once more, transposed," in evidence.detail
    assert "1.2 MiB of 2.3 MiB" in evidence.detail
    assert probed("Untied", "words", "words", tmp_path).evidence == ()


def test_copies_are_found_by_content_and_only_large_ones() -> None:
    generator = np.random.default_rng(1)
    one, small = generator.random((600, 512), np.float32), generator.random((8, 8), np.float32)
    near = one.copy()
    near[300, 300] += 1  # begins and ends alike
    named = {"onnx::MatMul_3": one.T.copy(), "a": one, "b": one.copy(), "near": near, "s": small, "t": small.copy()}
    results = list(copies_of(model(*(numpy_helper.from_array(v, k) for k, v in named.items())), Path()))
    size = one.nbytes
    assert results == [Copy("onnx::MatMul_3", "a", size, True), Copy("onnx::MatMul_3", "b", size, True)]


def test_weights_beyond_what_one_file_holds_are_told(tmp_path: Path) -> None:
    def outside(name: str, rows: int) -> TensorProto:
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[rows, 2**20])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights.data")
        return tensor

    def message(*rows: int) -> str:
        path = tmp_path / "m.onnx"
        path.write_bytes(model(*(outside(f"w{k}", n) for k, n in enumerate(rows))).SerializeToString())
        return too_large(Confirmation(Export("dynamo", path), Runtime(path)), "m:M")

    assert message(500) == ""
    assert "m:M, dynamo: 2.0 GiB of weights" in message(300, 220)
    assert "1 file beside it" in message(300, 220)
    assert too_large(Confirmation(Export("dynamo")), "m:M") == ""
