"""A branch that the exporter takes otherwise than PyTorch, on the example itself, explains its wrong values."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTERS, Cause, Evidence, Fault, Outcome
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow
MODELS = """
import torch
from torch import nn

def ready(x):
    if torch.jit.is_tracing() or torch.compiler.is_exporting():
        x = x + 0
    return x

class Typed(nn.Module):
    def forward(self, x):
        n = x.shape[1]
        if isinstance(n, int):  # here
            x = x[:, : n // 2]
        return x.sum(1)

class Scaled(nn.Module):
    def forward(self, x, scale=2):
        if isinstance(scale, int):  # by a default
            x = x * scale
        return x.sum(1)

class Halved(nn.Module):
    def forward(self, x):
        x = ready(x)
        return x // 2  # there
"""


def wrong(name: str, folder: Path, inputs: str = "made") -> dict[str, Evidence]:
    """The one cause of each exporter that is wrong."""
    argument = "def made():\n    return (torch.linspace(-3.5, 4.0, 16).reshape(2, 8),)\n"
    (folder / "parted_models.py").write_text(f"{MODELS}\n{argument}")
    result = run_probe(
        Probe(
            name,
            f"parted_models:{name}",
            "parted_models.py",
            1,
            "config",
            f"parted_models:{inputs}",
            {"x": {0: "batch", 1: "n"}},
            {},
            None,
            EXPORTERS,
            20,
            (str(folder),),
            str(folder),
            str(folder / "repro"),
        )
    )
    results: dict[str, Evidence] = {}
    for e in result.evidence:
        if e.symptom is Outcome.WRONG_VALUES:
            assert e.exporter not in results, result.evidence
            results[e.exporter] = e
    return results


def line(mark: str) -> int:
    return next(n for n, text in enumerate(MODELS.splitlines(), 1) if mark in text)


def test_the_branch_is_named_in_both_exporters(tmp_path: Path) -> None:
    results = wrong("Typed", tmp_path)
    assert results.keys() == set(EXPORTERS)
    for evidence in results.values():
        assert (evidence.cause, evidence.frames[0].line) == (Cause.BRANCH, line("# here"))
        assert "PyTorch goes to line" in evidence.detail
        assert evidence.sides is not None
        assert evidence.sides.fault is Fault.MODEL
        assert evidence.sides.issue is None


def test_the_branch_of_a_number_by_default_is_named(tmp_path: Path) -> None:
    results = wrong("Scaled", tmp_path)
    assert results.keys() == {"torchscript"}
    assert (results["torchscript"].cause, results["torchscript"].frames[0].line) == (
        Cause.BRANCH,
        line("# by a default"),
    )


def test_a_branch_that_is_meant_for_exports_is_not_blamed_for_what_is_computed_elsewhere(tmp_path: Path) -> None:
    results = wrong("Halved", tmp_path)
    assert results["torchscript"].frames[0].line == line("# there")
    assert results["torchscript"].cause is not Cause.BRANCH
