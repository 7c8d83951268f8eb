"""Work in forked processes: they see all that their parent has read, and send back records."""

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from onnxlint.base import interrupts

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

T = TypeVar("T")

BATCHES = 32  # at most, of what one process gets to do


def processes(wanted: int = 0) -> int:
    """How many processes are worth while: `wanted`, or as many as there are processors for this one, four at most."""
    if sys.platform != "linux":  # forking is unsafe or unknown elsewhere
        return 1
    return wanted or min(4, len(os.sched_getaffinity(0)))


class Workers:
    """Up to `count` processes at a time. `problems` tells which of them ended before their time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.problems: list[str] = []

    def run(
        self, work: Callable[[int], T], numbers: Sequence[int], take: Callable[[int, T], object], worth: bool = True
    ) -> None:
        """Have `take` each number with what `work` makes of it, as they are done; without `worth`, in this process.
        What a process that dies was to do is done here, and so is what raises an error."""
        left = dict.fromkeys(numbers)
        count = min(self._count, len(left)) if worth else 1
        if count > 1:
            step = max(len(left) // (count * BATCHES), 1)  # each of very many by itself would take long to hand over
            batches = [numbers[first : first + step] for first in range(0, len(left), step)]
            with contextlib.closing(self._forked(work, batches, count)) as finished:
                for batch, results in finished:
                    for number, result in zip(batch, results, strict=True):
                        del left[number]
                        take(number, result)
        for number in left:
            take(number, work(number))

    def _forked(
        self, work: Callable[[int], T], batches: Sequence[Sequence[int]], count: int
    ) -> Generator[tuple[Sequence[int], list[T]]]:
        """The batches that processes finish, with the results. Each has a pipe of its own, whose other end nobody else
        holds: it closes when the process ends, however that is."""
        import multiprocessing  # takes longer than a small project does
        from multiprocessing.connection import wait

        from onnxlint.base.lifetimes import end_with

        bind = partial(end_with, os.getpid())
        context = multiprocessing.get_context("fork")
        ahead = iter(range(len(batches)))
        running: dict[Any, ForkProcess] = {}
        try:
            with interrupts.deferred():  # until the processes are known here
                for _ in range(count):
                    mine, theirs = context.Pipe()
                    process = context.Process(target=_serve, args=(theirs, work, batches, bind), daemon=True)
                    process.start()
                    theirs.close()
                    running[mine] = process
            for mine in 2 * list(running):  # one to work on, and one to go on with
                _hand_over(mine, next(ahead, None))
            while running:
                for mine in running.keys() & wait([*running]):
                    try:
                        number, results = pickle.loads(mine.recv_bytes())
                    except (EOFError, OSError):  # the second in the middle of a result
                        process = running.pop(mine)
                        process.join()
                        self._note_end(process.exitcode)
                        mine.close()
                        continue
                    _hand_over(mine, next(ahead, None))
                    if results is not None:
                        yield batches[number], results
        finally:  # nobody waits for what is left of them after an interrupt
            for mine, process in running.items():
                process.kill()
                process.join()
                mine.close()

    def _note_end(self, code: int | None) -> None:
        if code:
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            hint = ", as where memory runs out" if code == -signal.SIGKILL else ""
            self.problems.append(f"a process of the analysis was ended {how}{hint}; its work was done without it")


ALONE = Workers(1)


def _hand_over(connection: "Connection", batch: int | None) -> None:
    """Give a process its next batch, or have it end. If it has ended already, reading from it will tell."""
    with contextlib.suppress(OSError):
        connection.send(batch)


def _serve(
    connection: "Connection", work: Callable[[int], Any], batches: Sequence[Sequence[int]], bind: Callable[[], None]
) -> None:
    """What a process does. It ends with its parent, and without a word by an interrupt: of that the parent speaks."""
    bind()
    interrupts.forget()
    for batch in iter(connection.recv, None):
        try:
            data = pickle.dumps((batch, [work(number) for number in batches[batch]]))
        except Exception:  # noqa: BLE001 - the parent does the same again, and meets it there
            data = pickle.dumps((batch, None))
        connection.send_bytes(data)
