"""The proof for a live model: what is kept of it, a script that stands alone, and what cannot be kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from probing import hazard
from torch import nn

from onnxlint.base.probe_records import Probe
from onnxlint.probes.exporters import Example
from onnxlint.probes.proof.counterexample import Answered, Counterexample
from onnxlint.probes.proof.live_proof import write_export, write_model

CASE = Counterexample("torchscript", "values[normal#0]", 'torchscript: "wrong-values".', (), {}, limit=0.5)
X = np.array([1.0, -2.0], np.float32)


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    return replace(hazard("Item", tmp_path), root=str(tmp_path), live="0")


@pytest.fixture
def doubling(tmp_path: Path) -> Path:
    """A file that doubles its input."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
    (tmp_path / "scratch").mkdir()
    onnx.save(model, tmp_path / "scratch" / "made.onnx")
    return tmp_path / "scratch" / "made.onnx"


def answered(file: Path, *answers: float, x: np.ndarray = X) -> Answered:
    return Answered(file, {"x": x}, [torch.tensor(answers)])


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script from elsewhere, without the folders of the tests."""
    command = [sys.executable, "-P", str(script), *arguments]
    return subprocess.run(command, cwd=script.parent.parent, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_script_of_a_file_compares_it_with_what_pytorch_answered(probe: Probe, doubling: Path) -> None:
    found = replace(CASE, answered=answered(doubling, 2.0, -4.3))
    folder = Path(probe.root, "repro", "one")
    case = replace(CASE, whole=found)
    assert write_export(probe, case, answered(doubling, 2.0, -7.0), folder) == "repro/one/repro.py"
    wrong = run(folder / "repro.py")
    assert wrong.returncode == 1, wrong.stderr
    assert "3 apart from" in wrong.stdout
    assert run(folder / "repro.py", "found.npz").returncode == 0, "it is within the limit"


def test_a_file_of_another_counterexample_is_shared_and_one_that_is_not_alike_is_copied(
    probe: Probe, doubling: Path
) -> None:
    folders = [Path(probe.root, "repro", name) for name in ("one", "two", "three")]
    for folder in folders[:2]:
        write_export(probe, CASE, answered(doubling, 2.0, -4.0), folder)
    doubling.write_bytes(doubling.read_bytes().replace(b"Add", b"Mul"))
    write_export(probe, CASE, answered(doubling, 1.0, 4.0), folders[2])
    one, two, three = (folder / "model.onnx" for folder in folders)
    assert one.samefile(two)
    assert not one.samefile(three)
    assert b"Mul" in three.read_bytes()
    assert b"Mul" not in one.read_bytes()
    assert not (folders[0] / "found.npz").exists()


def test_complex_answers_are_kept_as_pairs(probe: Probe, doubling: Path) -> None:
    folder = Path(probe.root, "repro", "one")
    write_export(probe, CASE, Answered(doubling, {"x": X}, [torch.tensor([1 + 2j]).conj()]), folder)
    assert np.load(folder / "inputs.npz")["output_0"].tolist() == [[1.0, -2.0]]


def test_what_numpy_or_one_file_cannot_hold_leaves_nothing(probe: Probe, doubling: Path) -> None:
    folder = Path(probe.root, "repro", "one")
    half = Answered(doubling, {"x": X}, [torch.ones(2, dtype=torch.bfloat16)])
    assert write_export(probe, CASE, half, folder) is None
    assert write_export(probe, CASE, Answered(doubling, {"x": object()}, []), folder) is None
    doubling.with_name("made.onnx.data").write_bytes(b"weights")
    assert write_export(probe, CASE, answered(doubling, 2.0, -4.0), folder) is None
    assert not folder.exists()


@pytest.mark.slow
def test_the_script_of_a_refused_model_exports_it_as_it_was(probe: Probe, tmp_path: Path) -> None:
    example, call = Example((torch.ones(2, 3),), {}, ("input",)), ("example", "input_names=['input']")
    for model, code in ((nn.Linear(3, 2), 0), (nn.Linear(4, 2), 1)):
        folder = tmp_path / "repro" / str(code)
        assert write_model(probe, model, example, CASE, call, folder) == f"repro/{code}/repro.py"
        done = run(folder / "repro.py")
        assert done.returncode == code, done.stderr
    assert "torchscript refused: RuntimeError" in done.stderr


class Locked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.held = threading.Lock()  # has no pickle


def test_a_model_that_no_file_holds_leaves_no_script(probe: Probe, tmp_path: Path) -> None:
    folder, example, call = tmp_path / "repro" / "one", Example((torch.ones(3),)), ("example", "")
    asked = replace(example, options={"input_names": ["x"]})
    assert write_model(probe, nn.Identity(), asked, CASE, call, folder) is None
    here = type("Here", (nn.Module,), {"__module__": "__main__"})
    assert write_model(probe, nn.Sequential(here()), example, CASE, call, folder) is None
    with torch.device("meta"):
        large = nn.Linear(2**14, 2**14)
    assert write_model(probe, large, example, CASE, call, folder) is None
    assert not folder.exists()
    assert write_model(probe, Locked(), example, CASE, call, folder) is None
    assert not list(folder.iterdir())
