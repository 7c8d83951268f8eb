"""Work in forked processes: what is done, and how it ends when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onnxlint.base import workers

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")

# One process is at work for a minute, one has nothing left to do; both write their number first.
BUSY = """
import os, sys, time
from onnxlint.base import workers

def work(number):
    os.write(1, b"%d\\n" % os.getpid())  # a line at once, in one piece
    time.sleep(60 if number else 0)

try:
    for number, _ in workers.run(work, [0, 1], 2):
        os.write(1, b"done\\n")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_every_number_is_worked_on_once() -> None:
    assert dict(workers.run(lambda n: n * n, range(20), 3)) == {n: n * n for n in range(20)}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_parent_however_that_ends(number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(3)]
    process.send_signal(number)
    process.stdout.read()  # until the last of them has closed it
    process.wait()
    assert said.count("done") == 1
    while any(alive(int(word)) for word in said if word != "done"):
        time.sleep(0.05)


@pytest.mark.parametrize("everyone", [True, False], ids=["of all of them", "of the parent alone"])
def test_an_interrupt_ends_the_processes_at_once_and_without_a_word(everyone: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(3)]
    assert said.count("done") == 1
    time.sleep(0.2)  # for the idle process to wait for more
    began = time.monotonic()
    if everyone:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=50)
    assert (process.returncode, err) == (130, "")
    assert time.monotonic() - began < 20
    assert not any(alive(int(word)) for word in said if word != "done")
