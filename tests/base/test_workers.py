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
    workers.run(work, [0, 1], 2, lambda *_: os.write(1, b"done\\n"))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("count", [20, 500])  # one by one, and in batches
def test_every_number_is_worked_on_once(count: int) -> None:
    taken: list[tuple[int, int]] = []
    workers.run(lambda n: n * n, range(count), 3, lambda *result: taken.append(result))
    assert sorted(taken) == [(n, n * n) for n in range(count)]


@pytest.mark.parametrize("count", [20, 500])
def test_what_a_process_that_ends_was_to_do_is_done_here(count: int) -> None:
    here = os.getpid()
    taken: dict[int, int] = {}

    def work(number: int) -> int:
        if number == 3 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGTERM)
        return number

    workers.run(work, range(count), 3, taken.__setitem__)
    assert taken == {n: n for n in range(count)}


def test_what_a_process_raises_is_raised() -> None:
    def work(number: int) -> int:
        raise LookupError(str(number))

    with pytest.raises(LookupError):
        workers.run(work, [1, 2], 2, print)


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


# Interrupted after a moment that is longer by some microseconds each time: while it forks, submits, waits and takes.
# The results are longer than a pipe has room for.
INTERRUPTED = """
import os, random, signal, sys
from onnxlint.base import interrupts, workers

def work(number):
    return bytes(300_000 if number % 3 else 3)

def interrupt(number, frame):
    raise KeyboardInterrupt

chance = random.Random(int(sys.argv[1]))
signal.signal(signal.SIGALRM, interrupt)
interrupts.SIGNALS = (*interrupts.SIGNALS, signal.SIGALRM)  # held back as those are
for _ in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.06))
        workers.run(work, range(30), 2, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        continue
taken = {}
workers.run(work, range(30), 2, taken.__setitem__)  # a busy machine may have come to the end of none of those
os._exit(0 if taken == {n: work(n) for n in range(30)} else 1)
"""


@pytest.mark.parametrize("seed", range(4))
def test_an_interrupt_at_any_moment_leaves_nobody_waiting(seed: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", INTERRUPTED, str(seed)], env=environment, timeout=250).returncode == 0
