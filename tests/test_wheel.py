"""The wheel, installed where there is no torch: complete, and honest about what it cannot do there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import onnxlint
from onnxlint.base.catalogue import load_catalogue

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
FINDING = ROOT / "fixtures" / "readme" / "gate.py"

# Explains every rule in one process, which is much faster than in one for each.
EXPLAIN = """
import json, sys
from click.testing import CliRunner
from onnxlint.cli import main
done = {code: CliRunner().invoke(main, ["explain", code]) for code in sys.argv[1:]}
print(json.dumps({code: (result.exit_code, result.output) for code, result in done.items()}))
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a program of a fresh environment that holds the wheel and its dependencies, away from this tree."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["COLUMNS"] = "100"

    def start(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(programs / program), *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    done = start("python", "-m", "pip", "install", "-q", "-c", str(ROOT / ".ci" / "constraints.txt"), str(wheel))
    assert done.returncode == 0, done.stderr
    return start


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "onnxlint").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"onnxlint/py.typed", "onnxlint/flow/tables/ops-2.14.json", "onnxlint/report/schema.json"} <= package
    contracts = {f"onnxlint/contracts/{path.name}" for path in (ROOT / "rules").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == package | contracts


def test_torch_is_not_there(run: Run) -> None:
    done = run("python", "-c", "import torch")
    assert "ModuleNotFoundError" in done.stderr


def test_the_version_is_that_of_the_tree(run: Run) -> None:
    done = run("onnxlint", "--version")
    assert (done.returncode, done.stdout) == (0, f"onnxlint {onnxlint.__version__}\n")
    done = run("python", "-c", "from importlib.metadata import version; print(version('onnxlint'))")
    assert done.stdout.strip() == onnxlint.__version__


def test_every_rule_is_explained_and_listed(run: Run) -> None:
    listed = run("onnxlint", "rules")
    assert listed.returncode == 0, listed.stderr
    rules = load_catalogue()
    done = run("python", "-c", EXPLAIN, *rules)
    assert done.returncode == 0, done.stderr
    explained = json.loads(done.stdout)
    for code, rule in rules.items():
        assert f"{code}  {rule.name}" in listed.stdout
        exit_code, text = explained[code]
        assert exit_code == 0, text
        assert code in text
        assert rule.title in text


def test_a_static_run_finds_what_it_should(run: Run) -> None:
    done = run("onnxlint", "check", "--static-only", "--output-format", "concise", str(FINDING))
    assert done.returncode == 1, done.stderr
    assert "gate.py:12:12: ONX101" in done.stdout
    assert "dynamic pass" not in done.stdout + done.stderr, "it was not asked for"


def test_a_full_run_says_once_that_the_dynamic_pass_is_off(run: Run) -> None:
    done = run("onnxlint", "check", "--output-format", "concise", str(FINDING))
    assert done.returncode == 1, done.stderr
    assert "gate.py:12:12: ONX101" in done.stdout
    (told,) = [line for line in (done.stdout + done.stderr).splitlines() if "dynamic pass" in line]
    assert "the dynamic pass is off: torch" in told
    assert "pip install 'onnxlint[dynamic]'" in told
