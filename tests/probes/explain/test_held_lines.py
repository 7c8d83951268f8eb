"""What PyTorch does with a line held to the example's values decides which lines are blamed, and is said with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import hazard, lines, named

from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow

ALONE = "with line {} held to what the example gave, PyTorch gives what the export gives"
PROOFS = {
    "Arm": ALONE,
    "Harmless": ALONE,
    "Joint": "with lines {} and {} held to what the example gave, PyTorch gives what the export gives",
    "Rows": "with line {} held to what the example gave, PyTorch fails as well",
    "Tokens": "",
}


@pytest.mark.parametrize("factory", PROOFS)
def test_the_lines_that_are_blamed_and_their_proof(factory: str, tmp_path: Path) -> None:
    result = run_probe(hazard(factory, tmp_path, exporters=("torchscript",), module="holding"))
    marked = lines(factory, module="holding")
    evidence = named(result, "torchscript", "holding")
    assert set(evidence) == set(marked)
    assert {e.proof for group in evidence.values() for e in group} == {PROOFS[factory].format(*marked)}
