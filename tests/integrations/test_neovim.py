"""The lines of the README for Neovim, in Neovim."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVE = Path(__file__).with_name("neovim.lua")
MODEL = """import torch

from .helper import chosen


class Gate(torch.nn.Module):
    def forward(self, x):
        name = "😀"
        if chosen(x):
            return x * 2
        return x
"""
LEAST = (0, 11)  # of which the README speaks


def neovim() -> str:
    """The command; skips the test where there is none, or an older one."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("nvim", path=path)
    if found is None:
        pytest.skip("there is no Neovim")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", told)
    if version is None or (int(version[1]), int(version[2])) < LEAST:
        pytest.skip(f"{told.splitlines()[0]} is too old")
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Neovim showed in a project."""
    command, folder = neovim(), tmp_path_factory.mktemp("neovim")
    (lines,) = re.findall(r"```lua\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (folder / "init.lua").write_text(lines, encoding="utf-8")
    package = folder / "project" / "src" / "package"
    package.mkdir(parents=True)
    (folder / "project" / "pyproject.toml").write_text('[project]\nname = "package"\n')
    (package / "__init__.py").touch()
    (package / "helper.py").write_text("def chosen(value):\n    return value.sum() > 0\n")
    (package / "model.py").write_text(MODEL, encoding="utf-8")
    # The command of the README is the one of this environment, with this source.
    bin_ = folder / "bin"
    bin_.mkdir()
    (bin_ / "onnxlint").write_text(
        f'#!/bin/sh\necho $$ > {folder}/pid\nPYTHONPATH={ROOT} exec {sys.executable} -m onnxlint "$@"\n'
    )
    (bin_ / "onnxlint").chmod(0o755)
    homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    done = subprocess.run(
        [command, "--headless", "-u", str(folder / "init.lua"), "src/package/model.py", f"+luafile {DRIVE}"],
        cwd=folder / "project",
        env={
            **os.environ,
            **homes,
            "PATH": os.pathsep.join([str(bin_), os.environ.get("PATH", "")]),
            "ONNXLINT_TOLD": str(folder / "told.json"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    assert found.get("fault") is None
    assert Path(found["root"]) == folder / "project"
    return {**found, "pid": int((folder / "pid").read_text())}


def test_findings_are_shown_with_their_places(told: dict[str, Any]) -> None:
    (found,) = told["opened"]
    assert (found["line"], found["column"]) == (9, 12)
    assert (found["code"], found["source"]) == ("ONX101", "onnxlint")
    assert "branches on the value of a tensor: `chosen(x)`" in found["message"]
    assert told["hover"].startswith("**ONX101** tensor-branch")
    broken = next(d for d in told["broken"] if "code" not in d)
    assert (broken["line"], broken["message"][:23]) == (12, "the file does not parse")


def test_actions_change_the_buffer(told: dict[str, Any]) -> None:
    line = "        if chosen(x):"
    assert told["suppressed"]["buffer"] == MODEL.replace(line, f"{line}  # noqa: ONX101")
    assert told["after_suppressing"] == []
    assert "return torch.where(chosen(x), x * 2, x)\n" in told["fixed"]["buffer"]
    assert told["after_fixing"] == []
    (title,) = told["all_fixed"]["titles"]
    assert "fix all" in title
    assert "'m.onnx')\n" in told["all_fixed"]["buffer"]


def test_a_configuration_that_is_written_meanwhile_counts(told: dict[str, Any]) -> None:
    assert told["ignored"] == []


def test_the_server_ends_with_it(told: dict[str, Any]) -> None:
    ends = time.monotonic() + 10
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < ends:
            os.kill(told["pid"], 0)
            time.sleep(0.05)
        pytest.fail("it runs on")
