"""The counterexample that is kept is the smallest that was found to show the same; the whole one stays beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probing import FOLDER
from test_branch_search import marked, probe

from onnxlint.base.records import Cause
from onnxlint.probes.process.worker import run_probe

pytestmark = pytest.mark.slow


def kept(factory: str, folder: Path, **changes: Any) -> tuple[Path, dict[str, Any]]:
    """The script of the one counterexample, and its input by position."""
    result = run_probe(probe(factory, folder, **changes))
    (evidence,) = [e for e in result.evidence if e.exporter == "torchscript"]
    assert (evidence.cause, evidence.frames[0].line) == (Cause.BRANCH, marked(factory))
    assert evidence.repro is not None
    script = Path(FOLDER, evidence.repro)
    data = np.load(script.parent / "inputs.npz")
    return script, {name: data[name] for name in data if name.startswith("input")}


def exit_code(script: Path, *arguments: str) -> int:
    return subprocess.run([sys.executable, str(script), *arguments], capture_output=True, check=False).returncode


def test_one_row_and_one_value_are_left(tmp_path: Path) -> None:
    script, inputs = kept("ColumnOfMany", tmp_path, inputs="wide")
    (x,) = inputs.values()
    assert x.shape == (1, 5)
    assert np.count_nonzero(x) == 1
    assert float(abs(x).max()) == 1e4
    whole = np.load(script.parent / "found.npz")
    assert whole["input_1"].shape == (4, 5)
    assert np.count_nonzero(whole["input_1"]) == 20
    assert exit_code(script) == 1
    assert exit_code(script, "found.npz") == 1


def test_the_evidence_tells_of_the_input_that_is_left(tmp_path: Path) -> None:
    result = run_probe(probe("ScaledByNumber", tmp_path))
    (evidence,) = [e for e in result.evidence if e.exporter == "torchscript"]
    assert (evidence.cause, evidence.reduced) == (Cause.ESCAPE, True)
    assert evidence.repro is not None
    data = np.load(Path(FOLDER, evidence.repro).parent / "inputs.npz")
    (x,) = (data[name] for name in data if name.startswith("input"))
    assert evidence.detail == f"`item` gives 2.0 on the example and {float(x.max())} on this input"


def test_a_count_keeps_what_the_branch_needs(tmp_path: Path) -> None:
    _, inputs = kept("Count", tmp_path, inputs="counted")
    x, steps = inputs.values()
    assert x.shape == (1, 3)
    assert np.count_nonzero(x) == 1
    assert 100 < int(steps) <= 102


def test_a_declared_range_holds_for_what_is_left(tmp_path: Path) -> None:
    _, inputs = kept("ColumnOfMany", tmp_path, inputs="wide", ranges={"x": (2.0, 90.0)})
    (x,) = inputs.values()
    assert float(x.min()) >= 2
    assert 50 < float(x.max()) <= 90


def test_what_the_users_own_vary_made_stays_as_it_is(tmp_path: Path) -> None:
    script, inputs = kept("Small", tmp_path, vary="branching:vary_sometimes")
    assert not (script.parent / "found.npz").exists()
    (x,) = inputs.values()
    assert float(x.min()) == float(x.max()) > 3.5


def test_no_length_becomes_0_on_the_way(tmp_path: Path) -> None:
    _, inputs = kept("MeanOfRows", tmp_path, inputs="measured")
    assert int(list(inputs.values())[1].min()) >= 1


def test_what_is_left_does_not_divide_by_0(tmp_path: Path) -> None:
    _, inputs = kept("Normed", tmp_path)
    (x,) = inputs.values()
    assert float(abs(x[:, 1:]).max()) > 0
