"""The counterexample that is kept: a short script that runs on its own and shows the disagreement."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from probing import FOLDER, hazard, lines

from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow


def scripts(factory: str, folder: Path, **options: Any) -> dict[str, Path]:
    """The first script of each exporter."""
    result = run_probe(hazard(factory, folder, **options))
    results: dict[str, Path] = {}
    for evidence in result.evidence:
        assert evidence.repro is not None
        results.setdefault(evidence.exporter, Path(evidence.repro))
    assert results
    return results


def run(script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a stranger would: from elsewhere, without onnxlint in reach."""
    blocker = script.parent / "blocked"
    blocker.mkdir(exist_ok=True)
    (blocker / "onnxlint.py").write_text("raise ImportError('a counterexample must not need onnxlint')\n")
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(blocker), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("factory", "options", "says"),
    [
        ("Item", {}, "apart"),
        ("DimBranch", {}, "apart"),
        ("IntBatch", {}, "refused"),
        ("Unsupported", {}, "refused"),
        ("EagerFixed", {}, "PyTorch itself refused"),
        ("Counter", {"exporters": ("dynamo",)}, "apart"),
        ("LeftInTraining", {}, "apart"),
        ("Steps", {"inputs": "with_steps", "vary": "vary_steps"}, "apart"),
        ("Flag", {"inputs": "with_flag", "vary": "vary_flag"}, "apart"),
        ("NestedBranch", {"inputs": "nested_by_name", "dynamic": {}, "vary": "vary_nested"}, "apart"),
    ],
)
def test_the_script_shows_the_disagreement(factory: str, options: dict[str, Any], says: str, tmp_path: Path) -> None:
    shown = []
    for script in scripts(factory, tmp_path, **options).values():
        text = script.read_text()
        assert len(text.partition("\nHELD = ")[0].splitlines()) < 80
        assert "import onnxlint" not in text
        assert "from onnxlint" not in text
        assert (script.parent / "inputs.npz").exists()
        done = run(script)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        shown.append(done.stdout + done.stderr)
    assert any(says in text for text in shown), shown


@pytest.mark.parametrize("factory", ["Harmless", "Joint", "Arm"])
def test_the_script_repeats_the_proof(factory: str, tmp_path: Path) -> None:
    script = scripts(factory, tmp_path, module="holding", exporters=("torchscript",))["torchscript"]
    held = run(script).stdout.splitlines()[-1]
    places = ", ".join(f"holding.py:{line}" for line in lines(factory, module="holding"))
    assert re.fullmatch(
        rf"PyTorch with {places} held: (0|\de-\d+) apart from ONNX Runtime, \S+ apart from PyTorch", held
    )
    assert not held.endswith(" 0 apart from PyTorch")


def test_once_the_model_is_corrected_the_script_agrees(tmp_path: Path) -> None:
    model = tmp_path / "hazards.py"
    source = (FOLDER / "hazards.py").read_text()
    model.write_text(source)
    script = scripts("Item", tmp_path / "kept", exporters=("torchscript",))["torchscript"]
    script.write_text(script.read_text().replace(repr(str(FOLDER)), repr(str(tmp_path))))
    assert run(script).returncode == 1
    corrected = source.replace("x.abs().max().item() + 1.0", "x.abs().max() + 1.0")
    assert corrected != source
    model.write_text(corrected)
    done = run(script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "apart" in done.stdout


def test_an_input_that_has_no_spelling_leaves_no_script(tmp_path: Path) -> None:
    result = run_probe(hazard("Opaque", tmp_path, inputs="opaque", dynamic={}))
    assert result.evidence
    assert all(evidence.repro is None for evidence in result.evidence)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("linked", ["folder", "files"])
def test_a_link_in_the_place_of_a_counterexample_is_not_followed(tmp_path: Path, linked: str) -> None:
    outside, place = tmp_path / "outside", tmp_path / "repro" / "hazards-Item-torchscript-1"
    names = ("repro.py", "inputs.npz", "issue.md", "found.npz")
    outside.mkdir()
    for name in names:
        (outside / name).write_text("theirs")
    place.parent.mkdir()
    if linked == "folder":
        place.symlink_to(outside)
    else:
        place.mkdir()
        for name in names:
            (place / name).symlink_to(outside / name)
    script = scripts("Item", place.parent, exporters=("torchscript",))["torchscript"]
    assert script.parent == place
    assert "theirs" not in script.read_text()
    assert [(outside / name).read_text() for name in names] == ["theirs"] * len(names)
