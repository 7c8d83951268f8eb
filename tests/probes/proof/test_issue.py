"""The report to paste: who is blamed for what, who answered what, and what is needed to see it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
import torch
from probing import hazard
from torch import nn

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Fault, Sides
from onnxlint.probes.proof.counterexample import Counterexample
from onnxlint.probes.proof.issue import UPSTREAM, write_issue

CASE = Counterexample("dynamo", "batch=3", "dynamo: wrong-values on batch=3: 2 apart.", (), {})
SIDES = Sides(
    (("PyTorch", "ONNX reference"), ("ONNX Runtime",), ("OpenVINO",)),
    {"TensorRT": "no kernel for a | b"},
    {"exported program": "it takes too long"},
    Fault.RUNTIME,
    "report it to ONNX Runtime",
)


class Twice(nn.Module):
    def forward(self, x):
        return x * 2


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """A probe whose script is there already."""
    (tmp_path / "repro" / "one").mkdir(parents=True)
    (tmp_path / "repro" / "one" / "repro.py").write_text("print('seen')\n\n")
    return replace(hazard("Item", tmp_path), root=str(tmp_path))


def written(probe: Probe, model: nn.Module | None = None, **changes: object) -> str:
    sides = replace(SIDES, **changes)
    path = write_issue(probe, model or Twice(), CASE, sides, "repro/one/repro.py", {"openvino": "2026.1"})
    assert path == "repro/one/issue.md"
    return Path(probe.root, path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (Fault.EXPORTER, "# The dynamo ONNX exporter writes"),
        (Fault.OPTIMIZER, "# Graph optimizations change"),
        (Fault.RUNTIME, "# A valid ONNX model gives another result"),
    ],
)
def test_the_title_says_whose_fault_it_is(probe: Probe, fault: Fault, title: str) -> None:
    assert fault in UPSTREAM
    assert written(probe, fault=fault).startswith(title)


def test_every_side_has_a_row_with_its_answer(probe: Probe) -> None:
    text = written(probe)
    assert CASE.claim in text
    assert text.partition("|---|---|\n")[2].partition("\n\n")[0].splitlines() == [
        "| PyTorch | the answer of PyTorch |",
        "| ONNX reference | the answer of PyTorch |",
        "| ONNX Runtime | another answer |",
        "| OpenVINO | another answer (2) |",
        "| TensorRT | refuses: no kernel for a \\| b |",
        "| exported program | not known: it takes too long |",
    ]
    assert "Report it to ONNX Runtime." in text


def test_the_versions_the_script_and_the_model_are_in_it(probe: Probe) -> None:
    text = written(probe)
    for line in (f"- torch {torch.__version__}", f"- onnx {onnx.__version__}", "- openvino 2026.1"):
        assert line in text.splitlines()
    assert "```python\nprint('seen')\n```\n" in text
    assert "The model:\n\n```python\nclass Twice(nn.Module):\n" in text


def test_a_model_that_is_long_or_has_no_source_is_left_out(probe: Probe) -> None:
    assert "The model:" not in written(probe, nn.MultiheadAttention(4, 1))
    scope: dict[str, object] = {"nn": nn}
    exec("class Made(nn.Module):\n    pass\n", scope)
    made = scope["Made"]
    assert isinstance(made, type)
    assert "The model:" not in written(probe, made())
