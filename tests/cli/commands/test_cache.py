"""`onnxlint cache`: where results are kept, how much they take, and that they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from onnxlint.base.cache import FOLDER
from onnxlint.cli import main

GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


def run(*arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def test_what_a_check_keeps_is_counted_and_deleted(here: Path) -> None:
    (here / "gate.py").write_text(GATE)
    folder = here / "kept"
    assert run("cache", "--cache-dir", "kept", "usage").startswith("0 entries, 0.0 MB in kept")
    run("check", "--static-only", "--cache-dir", str(folder), "gate.py")
    entries = int(run("cache", "--cache-dir", "kept", "usage").split()[0])
    assert entries > 0
    assert run("cache", "--cache-dir", "kept", "clean") == f"{entries} entries deleted from kept\n"
    assert run("cache", "--cache-dir", "kept", "usage").startswith("0 entries")


def test_what_is_no_entry_is_left_alone(here: Path) -> None:
    Path("kept").mkdir()
    Path("kept/notes.txt").write_text("mine")
    run("cache", "--cache-dir", "kept", "clean")
    assert Path("kept/notes.txt").read_text() == "mine"


def test_the_folder_is_that_of_the_user_where_none_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(here / "mine"))
    assert run("cache", "dir") == f"{here / 'mine'}\n"
    assert run("cache", "--cache-dir", "other", "dir") == "other\n"
