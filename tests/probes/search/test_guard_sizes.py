"""Sizes beyond dynamo's guards: a branch on a size that no usual size turns is tried on the other side."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import hazard, lines, named, outcomes

from onnxlint.base.probe_records import ProbeResult
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow


def result_of(factory: str, folder: Path, sizes: tuple[int, ...] = ()) -> ProbeResult:
    declared = {"batch": sizes} if sizes else {}
    return run_probe(hazard(factory, folder, module="branching", sizes=declared))


@pytest.mark.parametrize(
    ("factory", "size", "declared"),
    [("LimitedLength", 37, ()), ("LimitedLength", 37, (3, 4)), ("LimitedInOneLine", 41, ())],
)
def test_the_arm_that_no_size_took_is_tried(factory: str, size: int, declared: tuple[int, ...], tmp_path: Path) -> None:
    result = result_of(factory, tmp_path, declared)
    assert outcomes(result) == {"torchscript": "wrong-values", "dynamo": "wrong-values"}
    (line,) = lines(factory, module="branching")
    for exporter in ("torchscript", "dynamo"):
        (evidence,) = named(result, exporter, "branching")[line]
        assert evidence.variation.startswith(f"batch={size}")


@pytest.mark.parametrize("factory", ["InPartsWhereLong", "RefusesLong"])
def test_an_arm_that_changes_nothing_or_refuses_is_no_fault(factory: str, tmp_path: Path) -> None:
    result = result_of(factory, tmp_path)
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    (line,) = lines(factory, module="branching")
    assert line in result.reached["branching.py"]
