"""Work in forked processes: what is done, and how it ends when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onnxlint.base.workers import Workers

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")

# One process is at work for a minute, one has nothing left to do; both write their number first.
BUSY = """
import os, sys, time
from onnxlint.base.workers import Workers

def work(number):
    os.write(1, b"%d\\n" % os.getpid())  # a line at once, in one piece
    time.sleep(60 if number else 0)

try:
    Workers(2).run(work, [0, 1], lambda *_: os.write(1, b"done\\n"))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("count", [20, 500])  # one by one, and in batches
def test_every_number_is_worked_on_once(count: int) -> None:
    taken: list[tuple[int, int]] = []
    Workers(3).run(lambda n: n * n, range(count), lambda *result: taken.append(result))
    assert sorted(taken) == [(n, n * n) for n in range(count)]


@pytest.mark.parametrize("count", [20, 500])
def test_what_a_process_that_ends_was_to_do_is_done_here(count: int) -> None:
    here = os.getpid()
    taken: dict[int, int] = {}

    def work(number: int) -> int:
        if number == 3 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGTERM)
        return number

    workers = Workers(3)
    workers.run(work, range(count), taken.__setitem__)
    assert taken == {n: n for n in range(count)}
    assert workers.problems == ["a process of the analysis was ended by SIGTERM; its work was done without it"]


# One process stops the parent, then sends more than a pipe has room for; another kills it and wakes the parent.
KILLED = """
import os, signal, sys, time
from pathlib import Path
from onnxlint.base.workers import Workers

parent, sender = os.getpid(), Path("sender")

def work(number):
    if os.getpid() == parent:
        return b"again"
    if number:
        os.kill(parent, signal.SIGSTOP)
        sender.write_text(f"{os.getpid()}\\n")
        return bytes(3_000_000)
    while not (sender.exists() and sender.read_text().endswith("\\n")):
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(int(sender.read_text()), signal.SIGKILL)
    os.kill(parent, signal.SIGCONT)
    return b""

taken, workers = {}, Workers(2)
workers.run(work, [0, 1], taken.__setitem__)
print(taken, *workers.problems)
"""


def test_a_process_that_is_killed_while_it_sends_leaves_nobody_waiting(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", KILLED]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout == (
        "{0: b'', 1: b'again'} a process of the analysis was ended by SIGKILL, as where memory runs out; its work was "
        "done without it\n"
    )


def test_what_a_process_raises_is_raised() -> None:
    def work(number: int) -> int:
        raise LookupError(str(number))

    with pytest.raises(LookupError):
        Workers(2).run(work, [1, 2], print)


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
from onnxlint.base import interrupts
from onnxlint.base.workers import Workers

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
        Workers(2).run(work, range(30), lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        continue
taken = {}
Workers(2).run(work, range(30), taken.__setitem__)  # a busy machine may have come to the end of none of those
os._exit(0 if taken == {n: work(n) for n in range(30)} else 1)
"""


@pytest.mark.parametrize("seed", range(4))
def test_an_interrupt_at_any_moment_leaves_nobody_waiting(seed: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", INTERRUPTED, str(seed)], env=environment, timeout=250).returncode == 0
