"""How much memory a probe may use, and how much it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("psutil")

from onnxlint.probes.process import memory


@contextmanager
def running(code: str, lines: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that has written so many lines."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        for _ in range(lines):
            process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:  # else the number may be that of another
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_sizes_are_written_as_people_write_them() -> None:
    assert [memory.human(n) for n in (1, 512 << 20, 2 << 30)] == ["1 MiB", "512 MiB", "2.0 GiB"]


def test_two_probes_at_a_time_get_half_the_memory_each() -> None:
    assert 0 < memory.default_limit(2) < memory.available()


def test_a_container_has_what_its_limit_leaves_and_no_less_than_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, used = tmp_path / "memory.max", tmp_path / "memory.current"
    monkeypatch.setattr(memory, "_CGROUP_V2", (limit, used))
    assert memory.available() > 6000  # the files are not there
    limit.write_text("5000\n")
    used.write_text("2000\n")
    assert (memory.available(), memory.default_limit(2)) == (3000, 1200)
    used.write_text("6000\n")
    assert memory.available() == 0
    limit.write_text("max\n")
    assert memory.available() > 6000


def test_a_fork_does_not_count_what_it_shares_with_its_parent() -> None:
    code = "import os, time; b = bytearray(200 << 20); os.fork(); print(flush=True); time.sleep(600)"
    with running(code, lines=2) as process:
        gauge = memory.Gauge(process.pid)
        gauge.find_descendants()
        assert 200 << 20 < gauge.read() < 300 << 20


def test_what_a_descendant_has_for_itself_counts_once_it_was_looked_for() -> None:
    code = (
        "import os, time\nif os.fork() == 0:\n    b = bytearray(os.urandom(1 << 20) * 200)\n    print(flush=True)\n"
        "time.sleep(600)\n"
    )
    with running(code) as process:
        gauge = memory.Gauge(process.pid)
        assert gauge.read() < 100 << 20
        gauge.find_descendants()
        assert gauge.read() > 200 << 20


def test_a_process_that_a_signal_has_stopped_is_seen_and_one_that_has_ended_uses_nothing() -> None:
    with running("import time; print(flush=True); time.sleep(600)") as process:
        gauge = memory.Gauge(process.pid)
        assert not gauge.stopped
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert gauge.stopped
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert (gauge.stopped, gauge.read()) == (False, 0)
        assert memory.Gauge(process.pid).read() == 0
