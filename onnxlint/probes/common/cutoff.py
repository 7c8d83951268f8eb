"""Interrupts Python code that takes too long, for runs of a model that only a search needs."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from onnxlint.probes.common.costs import BUSY


class TooLong(TimeoutError):
    """The time is up. Code in C++ finishes before this is raised."""


@contextmanager
def cut_off(seconds: float) -> Iterator[None]:
    """Raise TooLong in a block that takes more CPU time, or waits several times as long; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    running = True

    def ring(_number: int, _frame: FrameType | None) -> None:
        if running:
            raise TooLong(f"took more than {seconds:.1f} s")

    seconds = max(seconds, 0.001)
    before = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, BUSY * seconds)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
