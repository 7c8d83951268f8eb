"""Tiny models of transformers: each verdict and each line at fault is the one that was found by hand."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onnxlint.base.paths import package_path

pytest.importorskip("transformers")
pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[1]
PROJECT = "fixtures/projects/transformers_zoo"
EXPECTED: dict[str, dict[str, dict[str, str]]] = json.loads(
    (Path(__file__).parent / "real_models.json").read_text(encoding="utf-8")
)["models"]
CELLS = [(model, exporter) for model, cells in EXPECTED.items() for exporter in cells]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    scripts = str(tmp_path_factory.mktemp("repro"))
    command = [sys.executable, "-m", "onnxlint", "check", PROJECT, "--output-format", "json", "--repro-dir", scripts]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=580, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_model_of_the_project_has_its_expected_verdicts_on_record(report: dict[str, Any]) -> None:
    assert [model["name"] for model in report["models"]] == list(EXPECTED)
    assert all(model["status"] == "probed" for model in report["models"])


@pytest.mark.parametrize(("model", "exporter"), CELLS, ids=lambda part: part.removeprefix("zoo:"))
def test_the_outcome_and_the_line_at_fault(report: dict[str, Any], model: str, exporter: str) -> None:
    expected = EXPECTED[model][exporter]
    (found,) = (m["exporters"][exporter] for m in report["models"] if m["name"] == model)
    assert found["outcome"] == expected["outcome"]
    if expected["outcome"] == "ok":
        assert found["location"] is None
        return
    where = found["location"]
    assert package_path(where["path"]) == expected["file"]
    assert linecache.getline(where["path"], where["line"]).strip() == expected["source"]


def test_there_is_one_finding_for_each_function_at_fault_and_no_other(report: dict[str, Any]) -> None:
    cells = [cell for cells in EXPECTED.values() for cell in cells.values()]
    at_fault = {(cell["file"], cell["function"]) for cell in cells if "file" in cell}
    found = [
        {(package_path(e["frames"][0]["path"]), e["frames"][0]["function"]) for e in finding["evidence"]}
        for finding in report["findings"]
    ]
    assert all(len(functions) == 1 for functions in found)
    assert sorted(function for functions in found for function in functions) == sorted(at_fault)
    assert {finding["path"] for finding in report["findings"]} == {f"{PROJECT}/zoo.py"}
    assert {finding["verdict"] for finding in report["findings"]} == {"confirmed"}
