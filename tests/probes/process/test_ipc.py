"""Shared memory, semaphores and queues that processes have left are removed; those of others stay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxlint.probes.process import ipc

pytestmark = pytest.mark.skipif(not Path("/proc/sysvipc").exists(), reason="the system keeps no such objects")

NAMED = """
import sys
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from onnxlint.probes.process import ipc
resource_tracker.register = lambda *_: None  # it would remove them by itself
ipc.note_made(sys.argv[1])
made = [SharedMemory(create=True, size=8) for _ in range(2)]
SharedMemory(made[0].name)
made[1].unlink()
print(made[0].name)
"""
# 512 is IPC_CREAT, 384 is 0600.
OLD = """
import ctypes
C = ctypes.CDLL(None)
shared, queue, semaphores = C.shmget(0, 8, 512 | 384), C.msgget(0, 512 | 384), C.semget(0, 3, 512 | 384)
assert min(shared, queue, semaphores) >= 0
C.msgsnd(queue, ctypes.create_string_buffer(b"\\1" + bytes(15)), 8, 0)
C.semop(semaphores, ctypes.create_string_buffer(b"\\2\\0\\1\\0\\0\\0"), 1)  # the last of the three
print(shared, queue, semaphores)
"""


def run(code: str, *arguments: str) -> tuple[int, list[str]]:
    """The process id of a Python that has ended, and the words that it wrote."""
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return process.pid, said.split()


@pytest.fixture
def old() -> Iterator[tuple[int, dict[str, int]]]:
    """A process that has left an object of each kind of System V's, and their numbers."""
    pid, numbers = run(OLD)
    left = dict(zip(("shm", "msg", "sem"), map(int, numbers), strict=True))
    yield pid, left
    ipc.remove_left([pid], os.devnull)


def there(left: dict[str, int]) -> list[str]:
    """The kinds of which the object is still there."""
    identity = {"shm": "shmid", "msg": "msqid", "sem": "semid"}
    return [kind for kind, number in left.items() if number in {row[identity[kind]] for row in ipc._table(kind)}]


def test_what_processes_have_noted_is_removed_and_counted_once(tmp_path: Path) -> None:
    _, (name,) = run(NAMED, str(tmp_path))
    assert Path("/dev/shm", name).exists()
    assert ipc.remove_left([], str(tmp_path)) == 1, "one was removed already, and opening makes none"
    assert not Path("/dev/shm", name).exists()
    assert ipc.remove_left([], str(tmp_path)) == 0


def test_objects_of_system_v_go_with_the_process_that_made_or_used_them(old: tuple[int, dict[str, int]]) -> None:
    pid, left = old
    assert there(left) == ["shm", "msg", "sem"]
    assert ipc.remove_left([pid], os.devnull) == 3
    assert there(left) == []


def test_objects_of_others_stay(old: tuple[int, dict[str, int]], tmp_path: Path) -> None:
    assert ipc.remove_left([1 << 30], str(tmp_path)) == 0
    assert there(old[1]) == ["shm", "msg", "sem"]


def test_notes_that_a_model_has_spoilt_are_no_error(tmp_path: Path) -> None:
    notes = tmp_path / ipc._NOTES
    for text in (b"\xff\xfe", b"/nowhere\n\0\n", b"/../etc/passwd\n", b"\n"):
        notes.write_bytes(text)
        assert ipc.remove_left([], str(tmp_path)) == 0
    notes.unlink(missing_ok=True)
    notes.mkdir()
    assert ipc.remove_left([], str(tmp_path)) == 0
