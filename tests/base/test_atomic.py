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

from onnxlint.base import atomic
from onnxlint.base.atomic import FileChanged, remove_leftovers, replace_file

OLD, NEW = b"x = 1\n" * 50, b"x = 2\n" * 50
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="leases and exchanges are Linux's")

EDITOR = """
import os, sys, time
path, mode = sys.argv[1:]
for line in sys.stdin:
    number, delay = line.split()
    end = time.perf_counter() + float(delay)
    while time.perf_counter() < end:
        pass
    data = f"edit {number}\\n".encode() * 50
    if mode == "renames":
        with open(path + "~", "wb") as file:
            file.write(data)
        os.replace(path + "~", path)
    elif mode == "truncates":
        with open(path, "wb") as file:
            file.write(data)
    else:
        handle = os.open(path, os.O_RDWR)
        os.write(handle, data)
        os.ftruncate(handle, len(data))
        os.close(handle)
    print("saved", flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.py"
    path.write_bytes(OLD)
    return path


def beside(file: Path) -> list[str]:
    return sorted(name for name in os.listdir(file.parent) if name != file.name)


@LINUX
@pytest.mark.parametrize("mode", ["renames", "truncates", "overwrites"])
def test_an_edit_made_at_any_moment_of_it_is_not_lost(file: Path, mode: str) -> None:
    command = [sys.executable, "-c", EDITOR, str(file), mode]
    times = random.Random(12)
    refused = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as editor:
        assert editor.stdin is not None
        assert editor.stdout is not None
        for number in range(400):
            file.write_bytes(OLD)
            editor.stdin.write(f"{number} {times.uniform(0, 0.0012):.7f}\n")
            try:
                replace_file(file, NEW, OLD)
            except FileChanged:
                refused += 1
            assert editor.stdout.readline() == "saved\n"
            assert file.read_bytes() == f"edit {number}\n".encode() * 50
            assert beside(file) == []
        editor.stdin.close()
    assert refused


def between(monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], object]) -> None:
    """Do something before the first exchange, before the second, and so on."""
    exchange, waiting = atomic._rename_exchange, list(actions)

    def interrupted(one: str, other: str) -> bool:
        if waiting:
            waiting.pop(0)()
        return exchange(one, other)

    monkeypatch.setattr(atomic, "_rename_exchange", interrupted)


@LINUX
class TestExchange:
    def test_a_file_renamed_over_it_at_the_last_moment_stays(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def save() -> None:
            (file.parent / "other").write_bytes(b"edit\n")
            os.replace(file.parent / "other", file)

        between(monkeypatch, save)
        with pytest.raises(FileChanged, match="has changed since it was read"):
            replace_file(file, NEW, OLD)
        assert (file.read_bytes(), beside(file)) == (b"edit\n", [])

    def test_of_two_edits_the_later_stays_though_it_was_made_while_the_first_was_put_back(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def save(text: bytes) -> None:
            (file.parent / "other").write_bytes(text)
            os.replace(file.parent / "other", file)

        between(monkeypatch, lambda: save(b"first\n"), lambda: save(b"second\n"))
        with pytest.raises(FileChanged):
            replace_file(file, NEW, OLD)
        assert (file.read_bytes(), beside(file)) == (b"second\n", [])

    def test_a_symbolic_link_put_in_its_place_stays(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def link() -> None:
            file.unlink()
            file.symlink_to("elsewhere")

        between(monkeypatch, link)
        with pytest.raises(FileChanged):
            replace_file(file, NEW, OLD)
        assert (os.readlink(file), beside(file)) == ("elsewhere", [])

    def test_a_file_deleted_at_the_last_moment_stays_deleted(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        between(monkeypatch, file.unlink)
        with pytest.raises(FileChanged):
            replace_file(file, NEW, OLD)
        assert os.listdir(file.parent) == []

    def test_a_file_that_is_open_for_writing_is_left(self, file: Path) -> None:
        with file.open("rb+"), pytest.raises(FileChanged, match="open for writing"):
            replace_file(file, NEW, OLD)
        replace_file(file, NEW, OLD)
        assert file.read_bytes() == NEW


@pytest.mark.parametrize("lacking", ["O_TMPFILE", "exchange"])
def test_where_the_platform_lacks_something_it_is_compared_right_before(
    file: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "exchange":
        monkeypatch.setattr(atomic, "_rename_exchange", lambda one, other: False)
    else:
        monkeypatch.setattr(os, "O_TMPFILE", os.O_EXCL | os.O_CREAT, raising=False)
    replace_file(file, NEW, OLD)
    assert (file.read_bytes(), beside(file)) == (NEW, [])
    with pytest.raises(FileChanged):
        replace_file(file, b"x = 3\n", OLD)
    assert (file.read_bytes(), beside(file)) == (NEW, [])


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


@LINUX
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


@LINUX
class TestLeftovers:
    def test_what_a_kill_before_or_after_the_exchange_leaves_is_removed(self, file: Path) -> None:
        marks = f"{atomic._digest(OLD)}-{atomic._digest(NEW)}"
        (file.parent / f".onnxlint-{marks}-1").write_bytes(OLD)
        (file.parent / f".onnxlint-{marks}-2").write_bytes(NEW)
        (file.parent / ".onnxlint-new-3").write_bytes(b"half")
        remove_leftovers([file.parent])
        assert beside(file) == []

    def test_an_edit_that_a_kill_left_under_our_name_is_kept(self, file: Path) -> None:
        name = f".onnxlint-{atomic._digest(OLD)}-{atomic._digest(NEW)}-1"
        (file.parent / name).write_bytes(b"an edit")
        remove_leftovers([file.parent])
        assert beside(file) == [name]

    def test_what_another_run_is_at_work_on_is_left(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        between(monkeypatch, lambda: remove_leftovers([file.parent]))
        replace_file(file, NEW, OLD)
        assert file.read_bytes() == NEW

    def test_names_that_only_look_alike_are_left(self, file: Path) -> None:
        names = [".onnxlint-notes", ".onnxlint-a-b-c", ".onnxlint.toml"]
        for name in names:
            (file.parent / name).write_bytes(b"")
        (file.parent / ".onnxlint-new-link").symlink_to(file)
        remove_leftovers([file.parent])
        assert beside(file) == sorted([*names, ".onnxlint-new-link"])
        assert file.exists()
