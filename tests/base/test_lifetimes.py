"""What ends with a process, however that ends: its temporary folders, and the processes that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlint.base.lifetimes import temporary_folder


def soon(condition: Callable[[], bool]) -> bool:
    ends = time.monotonic() + 20
    while not condition() and time.monotonic() < ends:
        time.sleep(0.02)
    return condition()


def test_a_temporary_folder_is_there_and_gone_in_the_end(tmp_path: Path) -> None:
    parent = tmp_path / "two words größe"
    parent.mkdir()
    with temporary_folder("a b-", str(parent)) as first, temporary_folder("a b-", str(parent)) as second:
        assert first != second
        for folder in (first, second):
            assert os.path.dirname(folder) == str(parent)
            assert os.path.basename(folder).startswith("a b-")
            Path(folder, "inner").mkdir()
            Path(folder, "inner", "größe.txt").write_text("x")
    assert list(parent.iterdir()) == []


def test_an_error_inside_removes_it_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temporary_folder(parent=str(tmp_path)):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_where_no_folder_can_be_made_it_says_what_to_set(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="set TMPDIR to one that you may write to"),
        temporary_folder(parent=str(tmp_path / "gone")),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_folder_goes_with_a_process_that_is_killed(tmp_path: Path, number: int) -> None:
    script = (
        "import sys, time\nfrom onnxlint.base.lifetimes import temporary_folder\n"
        "with temporary_folder(parent=sys.argv[1]):\n    print(flush=True)\n    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
    assert soon(lambda: not list(tmp_path.iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_a_process_ends_with_the_one_that_started_it() -> None:
    script = (
        "import os, subprocess, sys, time\nfrom functools import partial\n"
        "from onnxlint.base.lifetimes import end_with\n"
        "child = subprocess.Popen(['sleep', '60'], preexec_fn=partial(end_with, os.getpid()))\n"
        "print(child.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        status = Path("/proc", process.stdout.readline().strip(), "stat")
        assert status.exists()
        process.kill()
    assert soon(lambda: not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_process_whose_parent_has_ended_already_ends_at_once() -> None:
    script = "from onnxlint.base.lifetimes import end_with\nend_with(1 << 30)\nprint('here')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
