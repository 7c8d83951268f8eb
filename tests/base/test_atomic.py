"""A file is replaced whole or not at all: edits made meanwhile, full disks, kills, and what is kept of the old file."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlint.base.atomic import FileChanged, remove_leftovers, replace_file

OLD, NEW = b"x = 1\n" * 50, b"x = 2\n" * 50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.py"
    path.write_bytes(OLD)
    return path


def beside(file: Path) -> list[str]:
    return sorted(name for name in os.listdir(file.parent) if name != file.name)


def renamed_over(file: Path) -> None:
    (file.parent / "other").write_bytes(b"edit\n")
    os.replace(file.parent / "other", file)


def linked(file: Path) -> None:
    file.unlink()
    file.symlink_to("elsewhere")


EDITS: dict[str, Callable[[Path], object]] = {
    "renamed over": renamed_over,
    "written in place": lambda file: file.write_bytes(b"edit\n"),
    "added to": lambda file: file.write_bytes(OLD + b"edit\n"),
    "a link": linked,
    "deleted": Path.unlink,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_made_while_the_new_text_is_written_is_not_lost(
    file: Path, edit: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync
    after: list[object] = []

    def state() -> object:
        return os.readlink(file) if file.is_symlink() else file.exists() and file.read_bytes()

    def edited(handle: int) -> None:
        sync(handle)
        edit(file)
        after.append(state())

    monkeypatch.setattr(os, "fsync", edited)
    with pytest.raises(FileChanged, match="has changed since it was read"):
        replace_file(file, NEW, OLD)
    assert (beside(file), after) == ([], [state()])


def test_a_disk_without_room_leaves_the_file_and_nothing_beside(file: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        with pytest.raises(OSError, match="File too large"):
            replace_file(file, NEW, OLD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (file.read_bytes(), beside(file)) == (OLD, [])


def test_mode_owner_and_attributes_are_kept_and_hard_links_keep_the_old_text(file: Path) -> None:
    file.chmod(0o750)
    os.link(file, file.parent / "second")
    if os.geteuid() == 0:
        os.chown(file, 12, 34)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a file system without them
            os.setxattr(file, "user.note", b"kept")
        attributes = os.listxattr(file)
    replace_file(file, NEW, OLD)
    told = file.stat()
    assert stat.S_IMODE(told.st_mode) == 0o750
    assert (told.st_uid, told.st_gid) == ((12, 34) if os.geteuid() == 0 else (os.getuid(), os.getgid()))
    assert (file.parent / "second").read_bytes() == OLD
    if sys.platform == "linux":
        assert os.listxattr(file) == attributes


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        replace_file(tmp_path / "made", b"text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o640


LOOP = """
import sys
from pathlib import Path
from onnxlint.base.atomic import replace_file
path, texts = Path(sys.argv[1]), [b"x = 1\\n" * 50, b"x = 2\\n" * 50]
print("ready", flush=True)
while True:
    replace_file(path, texts[1], texts[0])
    texts.reverse()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_run_killed_at_any_moment_leaves_a_whole_file_and_nothing_that_the_next_does_not_remove(
    file: Path, number: signal.Signals
) -> None:
    times = random.Random(12)
    for _ in range(20):
        file.write_bytes(OLD)
        with subprocess.Popen([sys.executable, "-c", LOOP, str(file)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(times.uniform(0, 0.02))
            process.send_signal(number)
        assert file.read_bytes() in (OLD, NEW)
        if number == signal.SIGKILL:
            remove_leftovers([file.parent])
        assert beside(file) == []


class TestLeftovers:
    def test_what_a_kill_leaves_is_removed(self, file: Path) -> None:
        (file.parent / f".onnxlint-new-{3:016x}").write_bytes(b"half")
        remove_leftovers([file.parent])
        assert beside(file) == []

    def test_what_another_run_is_at_work_on_is_left(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fsync", lambda handle: remove_leftovers([file.parent]))
        replace_file(file, NEW, OLD)
        assert file.read_bytes() == NEW

    def test_names_that_only_look_alike_are_left(self, file: Path) -> None:
        names = [".onnxlint-notes", ".onnxlint-new-link", ".onnxlint.toml"]
        for name in names:
            (file.parent / name).write_bytes(b"")
        link = f".onnxlint-new-{3:016x}"
        (file.parent / link).symlink_to(file)
        remove_leftovers([file.parent])
        assert beside(file) == sorted([*names, link])
        assert file.exists()
