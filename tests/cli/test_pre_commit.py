"""The hook, as the real pre-commit runs it: in an environment of its own, without torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_hook_fails_on_a_finding_and_passes_without(tmp_path: Path) -> None:
    hooks = tmp_path / "onnxlint"
    hooks.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, hooks / name)
    revision = commit(hooks)

    project = tmp_path / "project"
    project.mkdir()
    (project / "gate.py").write_text(BAD)
    (project / "notes.txt").write_text("if x.sum() > 0:\n")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: onnxlint\n"
    )
    commit(project)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"],
            cwd=project,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    failed = run()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "ONX101" in failed.stdout
    assert "gate.py:6" in failed.stdout
    assert "exit code: 1" in failed.stdout

    (project / "gate.py").write_text(GOOD)
    passed = run()
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "Passed" in passed.stdout

    environment = next((tmp_path / "home").glob("repo*/py_env-*/lib/python*/site-packages"))
    assert not (environment / "torch").exists()
