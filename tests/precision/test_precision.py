"""Findings on public packages that were judged by hand: the true ones stay, the false ones do not come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
JUDGED: list[dict[str, Any]] = json.loads((HERE / "verdicts.json").read_text(encoding="utf-8"))["findings"]
VERSIONS = {f["package"]: f["version"] for f in JUDGED}


def packages() -> Iterator[Any]:
    """Each package that is judged; its tests are skipped unless just that version is installed."""
    for name, version in sorted(VERSIONS.items()):
        try:
            installed = metadata.version(name.replace("_", "-"))
        except metadata.PackageNotFoundError:
            installed = "not installed"
        why = f"judged is {name} {version}, here is {installed}"
        yield pytest.param(name, marks=[pytest.mark.slow, pytest.mark.skipif(installed != version, reason=why)])


def place(finding: dict[str, Any]) -> tuple[str, int, str]:
    """Where a judged finding stands, and its rule."""
    return finding["path"], finding["line"], finding["code"]


@cache
def reported(package: str) -> frozenset[tuple[str, int, str]]:
    """What the static pass reports on a package: path, line and rule."""
    found = util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    site = Path(found.origin).parents[1]
    command = [
        sys.executable,
        "-m",
        "onnxlint",
        "check",
        "--static-only",
        "--no-cache",
        "--output-format",
        "json",
        package,
    ]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    findings = json.loads(done.stdout)["findings"]
    places = ((f["code"], at) for f in findings for at in (f, *f.get("also", ())))  # one cause is one finding
    return frozenset((at["path"].rpartition("site-packages/")[2], at["line"], code) for code, at in places)


@pytest.mark.parametrize("package", packages())
def test_a_true_finding_is_still_reported(package: str) -> None:
    lines = {(path, line) for path, line, _ in reported(package)}
    mine = [f for f in JUDGED if f["package"] == package and f["verdict"] == "true" and not f.get("gone")]
    assert [place(f) for f in mine if (f["path"], f["line"]) not in lines] == []


@pytest.mark.parametrize("package", packages())
def test_a_false_finding_does_not_come_back(package: str) -> None:
    mine = [f for f in JUDGED if f["package"] == package and f["verdict"] == "false" and not f["known"]]
    assert [place(f) for f in mine if place(f) in reported(package)] == []


def test_every_finding_of_the_sample_is_judged() -> None:
    sample = json.loads((HERE / "sample.json").read_text(encoding="utf-8"))["findings"]
    assert len(sample) >= 150
    assert {f["verdict"] for f in sample} == {"true", "false"}
    assert all(f["reason"] for f in sample)


def test_every_hazard_that_the_static_pass_missed_is_explained() -> None:
    cells = json.loads((HERE / "architectures.json").read_text(encoding="utf-8"))
    missed = [(model, e) for model, told in cells.items() for e, cell in told.items() if cell.get("static") == []]
    assert missed
    assert [pair for pair in missed if not cells[pair[0]][pair[1]]["why"]] == []
