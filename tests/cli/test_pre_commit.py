"""The hooks, as the real pre-commit runs them: in an environment of their own without torch, or in the project's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("onnxlint", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

BAD = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
GOOD = BAD.replace("        if x.sum() > 0:\n            return x * 2\n        return x\n", "        return x * 2\n")
NEEDLESS = GOOD.replace("x * 2", "x * 2  # noqa: ONX101")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git"),
]


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *args], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All of it")
    return git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Hooks:
    """The repository that has the hooks, at a commit, and where pre-commit keeps the environment made for it."""

    repository: Path
    revision: str
    home: Path
    programs: Path


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    """One environment for all tests: it is made by the first."""
    folder = tmp_path_factory.mktemp("hooks")
    repository = folder / "onnxlint"
    repository.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, repository / name)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "onnxlint").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m onnxlint "$@"\n')
    (programs / "onnxlint").chmod(0o755)
    return Hooks(repository, commit(repository), folder / "home", programs)


class Project:
    """A git repository that uses a hook."""

    def __init__(self, folder: Path, hooks: Hooks, hook: str = "onnxlint", args: str = "[]", **files: str) -> None:
        self.folder = folder
        self._hooks = hooks
        self.write(**files)
        (folder / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {hooks.repository}\n  rev: {hooks.revision}\n"
            f"  hooks:\n  - id: {hook}\n    args: {args}\n    verbose: true\n"
        )
        commit(folder)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)

    def read(self, name: str) -> str:
        return (self.folder / f"{name}.py").read_text()

    def run(self, *args: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--color", "never", *args],
            cwd=self.folder,
            env={
                **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
                "PRE_COMMIT_HOME": str(self._hooks.home),
                "PYTHONPATH": "",
                "ONNXLINT_CACHE_DIR": str(self._hooks.home.parent / "cache"),
                "PATH": f"{self._hooks.programs}{os.pathsep}{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def test_the_hook_fails_on_a_finding_and_passes_without(tmp_path: Path, hooks: Hooks) -> None:
    project = Project(tmp_path, hooks, gate=BAD)
    (tmp_path / "notes.txt").write_text("if x.sum() > 0:\n")
    code, told = project.run("--all-files")
    assert code == 1, told
    assert "ONX101" in told
    assert "gate.py:6" in told
    assert "exit code: 1" in told

    project.write(gate=GOOD)
    code, told = project.run("--all-files")
    assert code == 0, told
    assert "Passed" in told

    environment = next(hooks.home.glob("repo*/py_env-*/lib/python*/site-packages"))
    assert not (environment / "torch").exists()


def test_a_commit_is_stopped_by_what_is_staged_alone(tmp_path: Path, hooks: Hooks) -> None:
    project = Project(tmp_path, hooks, gate=GOOD, other=BAD)
    project.write(gate=GOOD + "\n\nWIDTH = 3\n")
    git(tmp_path, "add", "gate.py")
    code, told = project.run()
    assert code == 0, told  # other.py is no part of the commit
    assert project.run("--all-files")[0] == 1

    project.write(gate=BAD)
    git(tmp_path, "add", "gate.py")
    project.write(gate=GOOD)  # mended, and not staged
    code, told = project.run()
    assert code == 1, told
    assert "gate.py:6" in told
    assert project.read("gate") == GOOD

    project.write(gate=GOOD + "\n\nWIDTH = 4\n")
    git(tmp_path, "add", "gate.py")
    project.write(gate=BAD)  # the other way round
    code, told = project.run()
    assert code == 0, told
    assert "Passed" in told
    assert project.read("gate") == BAD


def test_what_is_fixed_has_to_be_staged_again(tmp_path: Path, hooks: Hooks) -> None:
    project = Project(tmp_path, hooks, args="[--fix]", gate=GOOD)
    project.write(gate=NEEDLESS)
    git(tmp_path, "add", "gate.py")
    code, told = project.run()
    assert code == 1, told
    assert "files were modified by this hook" in told
    assert project.read("gate") == GOOD
    git(tmp_path, "add", "gate.py")
    code, told = project.run("--all-files")
    assert code == 0, told


def test_what_is_excluded_passes_though_it_is_staged(tmp_path: Path, hooks: Hooks) -> None:
    (tmp_path / "onnxlint.toml").write_text('extend-exclude = ["gate.py"]\n')
    project = Project(tmp_path, hooks, gate=BAD)
    code, told = project.run("--all-files")
    assert code == 0, told


DECLARED = (
    'exporters = ["torchscript"]\nlatency = false\n'
    '[[models]]\nfactory = "gate:Gate"\ninputs = { x = "float32[batch, 3]" }\n'
)


def test_the_dynamic_hook_runs_the_models_in_the_environment_of_the_project(tmp_path: Path, hooks: Hooks) -> None:
    pytest.importorskip("torch")
    (tmp_path / "onnxlint.toml").write_text(DECLARED)
    project = Project(tmp_path, hooks, hook="onnxlint-dynamic", gate=BAD, other="WIDTH = 3\n")
    code, told = project.run("--all-files")
    assert code == 1, told
    assert "ONX101" in told
    assert "confirmed" in told
    assert "1 model probed" in told

    project.write(gate=GOOD)
    git(tmp_path, "add", "gate.py")
    project.write(gate=BAD)  # not staged: the model is imported as it will be committed
    code, told = project.run()
    assert code == 0, told
    assert "1 model probed" in told
    assert "Passed" in told
    assert project.read("gate") == BAD
    assert git(tmp_path, "status", "--short") == "MM gate.py", "nothing is left behind that git would show"


def test_the_dynamic_hook_without_a_declared_model_looks_for_one(tmp_path: Path, hooks: Hooks) -> None:
    pytest.importorskip("torch")
    (tmp_path / "onnxlint.toml").write_text('exporters = ["torchscript"]\nlatency = false\n')
    needs = GOOD.replace(
        "    def forward", "    def __init__(self, parts):\n        super().__init__()\n\n    def forward"
    )
    project = Project(tmp_path, hooks, hook="onnxlint-dynamic", gate=needs)
    code, told = project.run("--all-files")
    assert code == 0, told  # that nobody said how to build a model stops no commit
    assert "Passed" in told


def test_in_ci_the_files_of_a_range_are_checked(tmp_path: Path, hooks: Hooks) -> None:
    project = Project(tmp_path, hooks, gate=BAD, gone=BAD, moved=GOOD, old=BAD)
    before = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "rm", "-q", "gone.py")
    git(tmp_path, "mv", "moved.py", "here.py")
    (tmp_path / "new name.py").write_text(GOOD)
    after = commit(tmp_path)
    code, told = project.run("--from-ref", before, "--to-ref", after)
    assert code == 0, told  # gate.py and old.py are no part of it
    assert "in 2 files" in told

    (tmp_path / "here.py").write_text(BAD)
    last = commit(tmp_path)
    code, told = project.run("--from-ref", after, "--to-ref", last)
    assert code == 1, told
    assert "here.py:6" in told


def test_many_files_are_one_run(tmp_path: Path, hooks: Hooks) -> None:
    """So that a call from one file into another is followed, however many there are."""
    files = {f"part_{number:03}": f"WIDTH = {number}\n" for number in range(300)}
    helper = "def busy(x):\n    return x.sum() > 0\n"
    caller = GOOD.replace("import torch", "import torch\n\nfrom zz_helper import busy").replace(
        "        return x * 2", "        if busy(x):\n            return x\n        return x * 2"
    )
    project = Project(tmp_path, hooks, aa_gate=caller, zz_helper=helper, **files)
    code, told = project.run("--all-files")
    assert code == 1, told
    assert "aa_gate.py:8" in told
    assert told.count(" in 302 files") == 1, told
