"""What a probe may cost: what only adds evidence takes no more time than the exports themselves leave to it."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Self, TypeVar

T = TypeVar("T")

ANY = 2.0  # times what the bare exports take, for a whole probe: a little is kept back for what cannot be cut
LEAST = 0.5  # seconds that every search gets, however quick the exports are
RUNS = 4.0  # seconds for all variations in eager, and again for each exported file in its runtimes
_RUNS_SHARE = 0.3  # of the time that is left for all searches
_EXPLAINING = 1.0  # seconds that what explains a failure gets beside that
BUSY = 8.0  # how many times longer a run may take on a busy machine
FEWEST = 6  # inputs that are run however slow the model is, the example among them


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its seconds: those of the CPU, unless it waits for something else than its turn."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, max(time.process_time() - cpu, (time.perf_counter() - wall) / BUSY)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a search: after so many CPU seconds, or a few times as many by the clock, for what waits."""

    cpu: float
    clock: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """That many seconds from now."""
        return cls(time.process_time() + seconds, time.monotonic() + BUSY * seconds)

    @property
    def left(self) -> float:
        """CPU seconds until then; below zero when it is over."""
        return min(self.cpu - time.process_time(), (self.clock - time.monotonic()) / BUSY)


@dataclass(slots=True)
class Costs:
    """The clock of one probe, in CPU seconds: other load on the machine must not change the findings.

    `bare` is what a user pays: the model built, the example run, the exports. `parts` are those by name.
    `cut` says which parts were left out or ended early because time ran out, and `unkept` what could not be written.
    """

    began: float = field(default_factory=time.process_time)
    parts: dict[str, float] = field(default_factory=dict)
    exported: bool = False
    cut: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)

    @contextmanager
    def paying(self, part: str) -> Iterator[None]:
        """Count what is done inside as a part of the bare exports, of that name."""
        began = time.process_time()
        try:
            yield
        finally:
            self.parts[part] = time.process_time() - began

    @property
    def bare(self) -> float:
        """What the parts took together."""
        return sum(self.parts.values())

    def left(self, most: float, share: float = 1.0) -> float:
        """The seconds that one search may take: `most`, or a share of what the exports leave to all of them.

        All of `most` as long as nobody knows what the exports cost.
        """
        if not self.exported:
            return most
        spent = time.process_time() - self.began
        return min(most, max(LEAST, share * (ANY * self.bare - spent)))

    def over(self, began: float) -> bool:
        """Whether to end what began at that CPU time: the exports leave no more, and it had a second of its own."""
        return self.left(math.inf) <= LEAST and time.process_time() - began > _EXPLAINING

    def affordable(self, wanted: int, pace: float, what: str) -> int:
        """How many of so many inputs to run, at `pace` seconds each: all where they take less than RUNS seconds."""
        seconds = max(RUNS, self.left(math.inf, _RUNS_SHARE)) if self.exported else RUNS
        count = max(FEWEST, int(seconds / max(pace, 1e-6)))
        if count < wanted:
            self.tell(f"{what} was run on {count} of {wanted} inputs, since one run takes {pace:.1f} s")
        return min(count, wanted)

    def tell(self, part: str) -> None:
        """Note once what was left out."""
        if part not in self.cut:
            self.cut.append(part)


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
