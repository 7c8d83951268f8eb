"""The process above a probe's: what it tells of the end, and that nothing of the probe is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from onnxlint.probes.process import supervisor, wire

REPOSITORY = Path(__file__).parents[3]
# The probe itself is a stand-in: `supervise` calls `child.main` in the process that it forks.
HARNESS = """
import os, signal, sys, time
from onnxlint.probes.process import child, supervisor

def probe(supervisor_id, channel, errors, trace):
    try:
        assert os.getppid() == supervisor_id
        {body}
    finally:
        os._exit(0)

child.main = probe
supervisor.supervise({{"pool": {pool}, "scratch": {scratch!r}}}, *map(int, sys.argv[1:]))
"""


class Run:
    """A supervisor of a probe that does what `body` says; `finish` returns the numbers that it has told."""

    def __init__(self, body: str, scratch: Path, pool: int | None = None) -> None:
        (self.status, status), (self.errors, errors) = os.pipe(), os.pipe()
        channel, trace = os.open(os.devnull, os.O_RDWR), os.open(os.devnull, os.O_RDWR)
        theirs = (channel, status, errors, trace)
        code = HARNESS.format(body=body, pool=os.getpid() if pool is None else pool, scratch=str(scratch))
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-c", code, *map(str, theirs)]
        self.process = subprocess.Popen(command, pass_fds=theirs, env=environment)
        for fd in theirs:
            os.close(fd)

    def begun(self) -> tuple[int, int]:
        """The process ids of the supervisor and of the probe."""
        data = os.read(self.status, 2 * wire.NUMBER.size)
        return wire.NUMBER.unpack_from(data)[0], wire.NUMBER.unpack_from(data, wire.NUMBER.size)[0]

    def finish(self) -> list[int]:
        assert self.process.wait(timeout=60) == 0
        with open(self.status, "rb") as told:
            return [number for (number,) in wire.NUMBER.iter_unpack(told.read())]


def gone(pid: int) -> bool:
    """Whether a process has ended; one that is about to gets some time."""
    for _ in range(200):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.05)
                continue
        return True
    return False


ENDS = {
    "it ends well": ("pass", 0),
    "it ends with a status of its own": ("os._exit(3)", 3 << 8),
    "it is killed by a signal": ("os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
}


@pytest.mark.parametrize(("body", "ended"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_probe_is_told_and_its_folder_is_gone(body: str, ended: int, tmp_path: Path) -> None:
    run = Run(body, tmp_path / "scratch")
    assert run.begun()[0] == run.process.pid
    assert run.finish() == [ended, 0, 0, 0, 0]
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_the_probes_own(tmp_path: Path) -> None:
    body = f"open({str(tmp_path / 'mode')!r}, 'w').write(oct(os.stat({str(tmp_path / 'scratch')!r}).st_mode))"
    run = Run(body, tmp_path / "scratch")
    run.begun()
    run.finish()
    assert (tmp_path / "mode").read_text() == "0o40700"


def test_a_process_that_is_left_is_ended_and_counted_and_one_that_has_ended_is_not(tmp_path: Path) -> None:
    leave = "[os._exit(0) if os.fork() == 0 else os.wait()]; os.setsid() if os.fork() else time.sleep(600)"
    run = Run(leave, tmp_path / "scratch")
    run.begun()
    assert run.finish() == [0, 0, 1, 0, 0]


def test_a_folder_that_is_there_already_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "of another").touch()
    run = Run("pass", tmp_path / "scratch")
    assert run.finish() == []
    with open(run.errors) as said:
        assert "File exists" in said.read()
    assert (tmp_path / "scratch" / "of another").exists()


def test_a_probe_whose_pool_has_ended_is_ended(tmp_path: Path) -> None:
    pool = subprocess.Popen(["sleep", "600"])
    run = Run("time.sleep(600)", tmp_path / "scratch", pool.pid)
    _, probe = run.begun()
    assert run.process.poll() is None
    pool.kill()
    pool.wait()
    assert run.finish() == [0, 0, 0, 0, 0]
    assert gone(probe)
    assert list(tmp_path.iterdir()) == []


def test_a_probe_that_nobody_listens_to_is_ended(tmp_path: Path) -> None:
    run = Run("time.sleep(600)", tmp_path / "scratch")
    _, probe = run.begun()
    os.close(run.status)
    assert run.process.wait(timeout=60) == 0
    assert gone(probe)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_the_pool_decides_and_not_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    run = Run("time.sleep(0.3)", tmp_path / "scratch")
    run.begun()
    time.sleep(0.1)  # until it ignores them
    run.process.send_signal(number)
    assert run.finish() == [0, 0, 0, 0, 0]


def test_numbers_that_nobody_reads_are_no_error() -> None:
    read, write = os.pipe()
    supervisor.tell(write, 1, -2)
    assert list(wire.NUMBER.iter_unpack(os.read(read, 100))) == [(1,), (-2,)]
    os.close(read)
    supervisor.tell(write, 1)
    os.close(write)


def test_what_lies_behind_a_link_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").touch()
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    supervisor.remove(str(folder))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "outside"]


@pytest.mark.parametrize("link", [True, False], ids=["a link to nowhere", "a file"])
def test_what_a_model_has_put_in_the_place_of_its_folder_is_removed(link: bool, tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    place.symlink_to(tmp_path / "nowhere") if link else place.touch()
    supervisor.remove(str(place))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_need_not_be_removed(tmp_path: Path) -> None:
    supervisor.remove(str(tmp_path / "gone"))


REMOVE = """
import os, sys
from onnxlint.probes.process import supervisor
os.setuid(65534)
scratch, names = sys.argv[1], sys.argv[2:]
os.makedirs(os.path.join(scratch, "inner", "deep"))
open(os.path.join(scratch, "inner", "deep", "a"), "w").close()
for name in names:
    os.chmod(os.path.join(scratch, name), 0)
supervisor.remove(scratch)
sys.exit(os.path.lexists(scratch))
"""
WITHOUT = {
    "of an inner folder": ("inner",),
    "of a folder and of one in it": ("inner/deep", "inner"),
    "of the folder itself": ("",),
    "of all of them": ("inner/deep", "inner", ""),
}


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody whom permissions bind")
@pytest.mark.parametrize("names", WITHOUT.values(), ids=WITHOUT)
def test_a_folder_is_removed_though_the_model_has_taken_the_permissions(names: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # that of pytest is for root alone
        os.chmod(folder, 0o777)
        command = [sys.executable, "-c", REMOVE, os.path.join(folder, "scratch"), *names]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=False)
    assert done.returncode == 0
