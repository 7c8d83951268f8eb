"""Work in forked processes: they see all that their parent has read, and send back records."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from onnxlint.base import interrupts

T = TypeVar("T")

BATCHES = 32  # at most, of what one process gets to do

_work: Callable[[int], Any] | None = None  # what the processes run; they are forked while it is set
_at_work = False  # in one of the processes: whether it runs that now, or waits and sends
_ended = False  # and whether it has been told to end


class _End(BaseException):
    """One of the processes has been told to end."""


def processes(wanted: int = 0) -> int:
    """How many processes are worth while: `wanted`, or as many as there are processors for this one, four at most."""
    if sys.platform != "linux":  # forking is unsafe or unknown elsewhere
        return 1
    return wanted or min(4, len(os.sched_getaffinity(0)))


def run(work: Callable[[int], T], numbers: Sequence[int], count: int, take: Callable[[int, T], object]) -> None:
    """Have `take` each number with what `work` makes of it, as they are done, from `count` processes or from this one.

    What a process that dies was to do is done here.
    """
    left = dict.fromkeys(numbers)

    def arrived(number: int, result: T) -> None:
        del left[number]
        take(number, result)

    if count > 1 and len(left) > 1:
        _forked(work, numbers, min(count, len(left)), arrived)
    for number in list(left):
        arrived(number, work(number))


def _forked(work: Callable[[int], T], numbers: Sequence[int], count: int, take: Callable[[int, T], object]) -> None:
    import multiprocessing  # takes longer than a small project does
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from queue import SimpleQueue

    from onnxlint.base.lifetimes import end_with

    global _work
    _work = work
    strangers = set(multiprocessing.active_children())
    # An interrupt while this thread takes a future's lock would leave it taken, and the pool's thread waiting for it:
    # what is done comes by a queue, whose waiting can be interrupted at any moment.
    done: SimpleQueue[Future[list[T]]] = SimpleQueue()
    step = max(len(numbers) // (count * BATCHES), 1)  # each of very many by itself would take long to hand over
    batches = [numbers[first : first + step] for first in range(0, len(numbers), step)]
    try:
        with ProcessPoolExecutor(
            count, multiprocessing.get_context("fork"), _begin, (partial(end_with, os.getpid()),)
        ) as pool:
            try:
                # Held back until the processes are there and know what to do with it: they are forked on submission.
                with interrupts.deferred():
                    tasks = {pool.submit(_call, batch): batch for batch in batches}
                    for task in tasks:
                        task.add_done_callback(done.put)
                for _ in batches:
                    task = done.get()
                    for number, result in zip(tasks[task], task.result(), strict=True):
                        take(number, result)
            except (BrokenProcessPool, _End):
                return
            except BaseException:  # nobody waits for what they are at, and an interrupt may have come here alone
                for process in set(multiprocessing.active_children()) - strangers:
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    finally:
        _work = None


def _begin(bind: Callable[[], None]) -> None:
    """End with the parent, and leave off without a word by an interrupt: the parent is told of it too, and speaks."""
    bind()
    for number in interrupts.SIGNALS:
        signal.signal(number, _leave_off)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, interrupts.SIGNALS)


def _leave_off(number: int, _: FrameType | None) -> None:
    """End the work, not the process: half a result in the pipe would have the parent wait for the rest for ever."""
    global _ended
    _ended = True
    if _at_work:
        raise _End


def _call(numbers: Sequence[int]) -> list[Any]:
    global _at_work
    assert _work is not None
    try:
        _at_work = True
        if _ended:
            raise _End
        return [_work(number) for number in numbers]
    finally:
        _at_work = False
