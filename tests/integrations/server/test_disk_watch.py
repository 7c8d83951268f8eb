"""Changes on the disk reach the projects of an editor that does not tell of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlint.integrations.server import disk_watch
from onnxlint.integrations.server.projects import Projects


class Watched(Projects):
    """Projects that have read one folder, and note what they are told."""

    def __init__(self, root: Path, *members: Path) -> None:
        super().__init__(lambda *_: None, lambda *_: None, lambda *_: None)
        self.root, self.members, self.begun = str(root), frozenset(map(str, members)), time.time_ns()
        self.changed: list[str] = []

    def read(self) -> list[tuple[str, frozenset[str], int]]:
        return [(self.root, self.members, self.begun)]

    def changed_outside(self, paths: object) -> None:
        assert isinstance(paths, list)
        self.changed += [os.path.relpath(path, self.root) for path in paths]


def seen(projects: Watched, *changes: Callable[[], object]) -> list[list[str]]:
    """What is told after each of some changes."""

    async def run() -> list[list[str]]:
        task = asyncio.ensure_future(disk_watch.look(projects))
        told = []
        await asyncio.sleep(0.1)
        for change in changes:
            change()
            while not projects.changed:
                await asyncio.sleep(0.02)
            told.append(list(projects.changed))
            projects.changed.clear()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return told

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_watch, "_PAUSE", 0.05)


def test_what_is_written_made_or_removed_is_told_once(tmp_path: Path) -> None:
    file, config, new = (tmp_path / name for name in ("two words.py", "onnxlint.toml", "new"))
    file.write_text("x = 1\n")

    def save() -> None:
        new.write_text("x = 12\n")
        new.replace(file)  # a look between the opening and the writing of the file itself would tell of it twice

    projects = Watched(tmp_path, file)
    told = seen(projects, save, lambda: config.write_text(""), config.unlink, file.unlink)
    assert told == [["two words.py"], ["onnxlint.toml"], ["onnxlint.toml"], ["two words.py"]]


def test_configuration_above_the_folder_counts_and_other_files_do_not(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()

    def both() -> None:
        (tmp_path / "inner" / "notes.txt").write_text("x")
        (tmp_path / "inner" / "unread.py").write_text("x")
        (tmp_path / "pyproject.toml").write_text("")

    assert seen(Watched(tmp_path / "inner"), both) == [["../pyproject.toml"]]


def test_what_changed_between_the_reading_and_the_first_look_is_told(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 1\n")
    projects = Watched(tmp_path, file)
    later = projects.begun + 10**9
    os.utime(file, ns=(later, later))
    assert seen(projects, lambda: None) == [["m.py"]]
