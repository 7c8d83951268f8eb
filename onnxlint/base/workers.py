"""Work in forked processes: they see all that their parent has read, and send back records."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from onnxlint.base import interrupts

T = TypeVar("T")

_work: Callable[[int], Any] | None = None  # what the processes run; they are forked while it is set


def processes(wanted: int = 0) -> int:
    """How many processes are worth while: `wanted`, or as many as there are processors for this one, four at most."""
    if sys.platform != "linux":  # forking is unsafe or unknown elsewhere
        return 1
    return wanted or min(4, len(os.sched_getaffinity(0)))


def run(work: Callable[[int], T], numbers: Sequence[int], count: int) -> Iterator[tuple[int, T]]:
    """Yield each number with what `work` makes of it, as they are done, from `count` processes or from this one.

    What a process that dies was to do is done here.
    """
    left = list(numbers)
    if count > 1 and len(left) > 1:
        for number, result in _forked(work, left, min(count, len(left))):
            left.remove(number)
            yield number, result
    for number in left:
        yield number, work(number)


def _forked(work: Callable[[int], T], numbers: Sequence[int], count: int) -> Iterator[tuple[int, T]]:
    import multiprocessing  # takes longer than a small project does
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    from onnxlint.base.lifetimes import end_with

    global _work
    _work = work
    strangers = set(multiprocessing.active_children())
    try:
        with ProcessPoolExecutor(
            count, multiprocessing.get_context("fork"), _begin, (partial(end_with, os.getpid()),)
        ) as pool:
            try:
                # Held back until the processes are there and know what to do with it: they are forked on submission.
                with interrupts.deferred():
                    tasks = {pool.submit(_call, number): number for number in numbers}
                for done in as_completed(tasks):
                    yield tasks[done], done.result()
            except BrokenProcessPool:
                return
            except KeyboardInterrupt:  # nobody waits for what they are at, and it may have come to this process alone
                for process in set(multiprocessing.active_children()) - strangers:
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    finally:
        _work = None


def _begin(bind: Callable[[], None]) -> None:
    """End with the parent, and by an interrupt without a word: the parent is told of it too, and speaks."""
    bind()
    interrupts.forget()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, interrupts.SIGNALS)


def _call(number: int) -> Any:
    assert _work is not None
    return _work(number)
