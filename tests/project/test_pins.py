"""Which torch a project pins: by a lock file, requirements, constraints or pyproject.toml, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnxlint.project.pins import pinned_torch, project_of

LOCK = '[[package]]\nname = "torch"\nversion = "2.13.0+cpu"\n\n[[package]]\nname = "torchvision"\nversion = "0.29.1"\n'
PINS = {
    "a requirement": ("requirements.txt", "numpy\ntorch==2.14.1  # the GPU build\n", "2.14.1"),
    "a requirement of a build": ("requirements.txt", "torch == 2.14.1+cu130 ; python_version > '3.9'\n", "2.14.1"),
    "a requirement of another system": (
        "requirements.txt",
        'torch~=2.14.0; sys_platform=="none"\ntorch==2.13.0; sys_platform!="none" and python_version>"3" # here\n',
        "2.13.0",
    ),
    "a requirement with a hash": ("requirements.txt", "torch==2.13.0 ; python_version > '3' \\\n --hash=1\n", "2.13.0"),
    "a dependency of a system": (
        "pyproject.toml",
        '[project]\ndependencies = ["torch==2.14.0; sys_platform==\'none\'", "torch==2.13.0"]\n',
        "2.13.0",
    ),
    "any patch release": ("requirements-dev.txt", "torch==2.14.*\n", "2.14"),
    "patch releases from one on": ("requirements.txt", "torch~=2.14.0\n", "2.14.0"),
    "a requirement with an extra": ("requirements.txt", "torch[opt-einsum]==2.13.0\n", "2.13.0"),
    "a constraint": ("constraints.txt", "torch===2.13.0\n", "2.13.0"),
    "a dependency": ("pyproject.toml", '[project]\ndependencies = ["numpy", "torch==2.14.0"]\n', "2.14.0"),
    "an extra": ("pyproject.toml", '[project.optional-dependencies]\nall = ["torch ==2.13.1"]\n', "2.13.1"),
    "a group": ("pyproject.toml", '[dependency-groups]\ntest = ["torch==2.13.1", {include-group = "x"}]\n', "2.13.1"),
    "Poetry": ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "2.13.1"\n', "2.13.1"),
    "a table of Poetry": (
        "pyproject.toml",
        '[tool.poetry.group.ml.dependencies]\ntorch = {version = "==2.14.1", source = "cpu"}\n',
        "2.14.1",
    ),
    "a lock file of uv": ("uv.lock", LOCK, "2.13.0+cpu"),
    "a lock file of Windows": ("poetry.lock", LOCK.replace("\n", "\r\n"), "2.13.0+cpu"),
}
FREE = {
    "a range": ("requirements.txt", "torch>=2.10,<3\n"),
    "minor releases from one on": ("requirements.txt", "torch~=2.10\n"),
    "another package": ("requirements.txt", "torchvision==0.29.1\ntorch-geometric==2.7.0\npytorch==1.0\n"),
    "a marker that is none": ("requirements.txt", f"torch==2.13.0; nothing\ntorch==2.13.0; {'(' * 9999}\n"),
    "a table of Poetry for another system": (
        "pyproject.toml",
        "[tool.poetry.dependencies]\ntorch = {version = '2.13.1', markers = 'sys_platform == \"none\"'}\n",
    ),
    "a comment": ("requirements.txt", "# torch==2.13.0\n"),
    "what is no version": ("requirements.txt", "torch==latest\ntorch @ file:///torch.whl\n"),
    "a caret": ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.13"\n'),
    "a broken file": ("pyproject.toml", '[project\ndependencies = ["torch==2.13.0"]\n'),
    "a table of another shape": ("pyproject.toml", 'project = "torch==2.13.0"\ntool = ["torch"]\n'),
    "a dependency in a lock file": ("uv.lock", 'dependencies = [\n    { name = "torch", version = "2.13.0" },\n]\n'),
    "bytes": ("requirements.txt", "\x00\ud800torch".encode("utf-8", "surrogatepass").decode("latin-1")),
}


@pytest.mark.parametrize(("name", "text", "version"), PINS.values(), ids=PINS.keys())
def test_a_pin_by(name: str, text: str, version: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert pinned_torch(tmp_path) == (version.partition("+")[0] if "lock" not in name else version, name)


@pytest.mark.parametrize(("name", "text"), FREE.values(), ids=FREE.keys())
def test_no_pin_by(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    assert pinned_torch(tmp_path) is None


def test_a_lock_file_comes_before_requirements_and_these_before_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.12.0"]\n')
    assert pinned_torch(tmp_path) == ("2.12.0", "pyproject.toml")
    (tmp_path / "requirements.txt").write_text("torch==2.14.1\n")
    assert pinned_torch(tmp_path) == ("2.14.1", "requirements.txt")
    (tmp_path / "uv.lock").write_text(LOCK)
    assert pinned_torch(tmp_path) == ("2.13.0+cpu", "uv.lock")


def test_the_project_of_a_folder_deep_in_it(tmp_path: Path) -> None:
    deep = tmp_path / "src" / "models"
    deep.mkdir(parents=True)
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "constraints.txt").write_text("torch==2.14.1\n")
    assert project_of(deep) == tmp_path
    assert pinned_torch(deep) == ("2.14.1", "constraints.txt")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "requirements.txt")
    (tmp_path / "uv.lock").mkdir()
    (tmp_path / "constraints.txt").symlink_to(tmp_path / "nowhere")
    assert pinned_torch(tmp_path) is None
