"""Signals that end a run: reported as shells have them, taken once, and held back where something has to end first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from onnxlint.base import interrupts


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What this process does about signals is as before in the end."""
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_each_signal_interrupts_the_run_and_has_its_exit_code(name: str, code: int) -> None:
    script = (
        "import os, signal, sys, time\n"
        "from onnxlint.base import interrupts\n"
        "interrupts.listen()\n"
        "signal.signal(signal.SIGINT, interrupts._interrupt)\n"
        "try:\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    time.sleep(30)\n"
        "except KeyboardInterrupt:\n"
        "    print('told')\n"
        "    sys.exit(interrupts.exit_code())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode, done.stderr) == ("told\n", code, "")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    interrupts.listen()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert callable(signal.getsignal(signal.SIGTERM))
    interrupts.forget()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is signal.SIG_DFL


def test_a_signal_that_is_sent_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(interrupts, "_when", now - 2)  # not left there: this clock may be ahead of the real one
    assert interrupts.note(signal.SIGTERM)
    assert interrupts.received() == signal.SIGTERM
    now += 0.5
    assert not interrupts.note(signal.SIGTERM)
    now += 2
    assert interrupts.note(signal.SIGINT)
    assert interrupts.received() == signal.SIGINT
    assert interrupts.exit_code() == 130


def test_what_is_done_while_signals_are_noted_comes_to_an_end() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interrupts.noted() as seen:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert sorted(seen) == sorted([signal.SIGTERM, signal.SIGINT])
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_waits_until_what_defers_it_is_done() -> None:
    seen = []
    with interrupts.handled_by(lambda number, _: seen.append(number)):
        with interrupts.deferred():
            signal.raise_signal(signal.SIGTERM)  # to this thread: one to the process, another thread would take
            time.sleep(0.01)
            assert seen == []
        time.sleep(0.01)
        assert seen == [signal.SIGTERM]


def test_a_signal_that_comes_while_a_default_is_put_back_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython drops one that comes inside of `signal.signal`: "ignored due to race condition"."""
    put = signal.signal
    dropped: list[int] = []

    def late(number: int, handler: object) -> object:
        if handler is signal.SIG_DFL and number not in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            dropped.append(number)
        elif handler is signal.SIG_DFL:
            os.kill(os.getpid(), number)
        return put(number, handler)  # type: ignore[arg-type]

    for number in interrupts.SIGNALS:
        put(number, signal.SIG_DFL)
    monkeypatch.setattr(signal, "signal", late)
    pid = os.fork()
    if pid == 0:
        with interrupts.deferred():
            pass
        os._exit(len(dropped))
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), f"{os.WEXITSTATUS(status)} signals would be dropped"


def test_a_signal_waits_where_another_thread_would_take_it() -> None:
    seen: list[int] = []
    done = threading.Event()
    other = threading.Thread(target=done.wait, args=(10,))
    other.start()
    try:
        with interrupts.handled_by(lambda number, _: seen.append(number)):
            with interrupts.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.05)
                assert seen == []
            time.sleep(0.05)
            assert seen == [signal.SIGTERM]
    finally:
        done.set()
        other.join()


class Pressed:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_is_told_wherever_it_comes_and_raised_in_the_end() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    done: list[str] = []

    def work() -> None:
        with interrupts.told(lambda: done.append("told")):
            Pressed()  # Python would print what is raised there
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "that ends this process as ever"
            done.append("to the end")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["told", "told", "to the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_raises_nothing_is_not_told() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    with interrupts.told(lambda: seen.append(0)):
        signal.raise_signal(signal.SIGINT)
    assert seen == [signal.SIGINT]


def test_handlers_are_as_before_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="x"), interrupts.handled_by(lambda *_: None), interrupts.deferred():
        raise ValueError("x")
    assert signal.getsignal(signal.SIGINT) is before
