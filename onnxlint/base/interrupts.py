"""Signals that end a run: SIGTERM and SIGHUP count as Ctrl-C does, so that what is known is reported."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNWRITTEN = "the run was interrupted before the file was written"
_AT_ONCE = 1.0  # seconds in which a signal that comes again is the same one: `timeout` sends it twice

_received: int = signal.SIGINT
_when = -_AT_ONCE


def listen() -> None:
    """Have SIGTERM and SIGHUP raise KeyboardInterrupt, unless this process was started to ignore them (`nohup`)."""
    for number in SIGNALS[1:]:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def forget() -> None:
    """Have this process end by these signals as any other does, and by Ctrl-C; what is ignored stays so."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def exit_code() -> int:
    """The exit code of an interrupted run, as shells have it: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
    # CPython marks a process in which code from a string (a dataclass being made) ended by KeyboardInterrupt, caught or
    # not, and lets `python -m` die by SIGINT at its end; the next code from a string takes the mark away.
    exec("")
    return 128 + _received


def note(number: int) -> bool:
    """Take note of a signal that ends the run; False where it is one that has just come, sent twice."""
    global _received, _when
    again, _when = time.monotonic() - _when < _AT_ONCE, time.monotonic()
    _received = number
    return not again


def received() -> int:
    """The signal that has interrupted the run: SIGINT where it was none of the others."""
    return _received


@contextlib.contextmanager
def noted() -> Iterator[list[int]]:
    """Only note the signals that end the run, in the list that is yielded: what is done here comes to an end."""
    seen: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        note(number)
        seen.append(number)

    with handled_by(hear):
        yield seen


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Meanwhile the signals that end the run wait. A mask would not do: it is one thread's, and another takes them."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
        yield
        return
    try:
        with handled_by(lambda number, _: seen.append(number)):
            yield
    finally:
        for number in dict.fromkeys(seen):
            signal.raise_signal(number)


@contextlib.contextmanager
def told(tell: Callable[[], object]) -> Iterator[None]:
    """Meanwhile `tell` is called where a signal would raise KeyboardInterrupt, which is raised in the end: it may come
    between any two steps, and Python only prints it where it comes in a destructor or a callback of the collector."""
    ours = threading.current_thread() is threading.main_thread()  # handlers run in the main thread alone
    before = {n: handler for n in SIGNALS if ours and callable(handler := signal.getsignal(n))}
    seen: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        try:
            before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt:
            seen.append(number)
            tell()

    try:
        for number in before:
            signal.signal(number, hear)
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
        if seen:
            raise KeyboardInterrupt


@contextlib.contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Meanwhile the signals that end the run go to a handler; what is ignored stays so."""
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, heard)  # CPython drops one that comes as it changes
        for number, former in before.items():
            signal.signal(number, former)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def _interrupt(number: int, _: FrameType | None) -> None:
    if note(number):
        raise KeyboardInterrupt
