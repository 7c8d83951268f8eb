"""How many steps an entry point and a file may take. They are counted, not timed: every run ends at the same place.

A step is a statement, a call, or an item of a comprehension; a hundred thousand take a few seconds. The entry points of
transformers take two thousand at most. What did only bookkeeping a few times takes none from then on. A value that
holds many others takes more steps: with the bounds on values (see domain.py) that bounds the time.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from onnxlint.flow.values.domain import Value

ENTRY = 100_000
FILE = 200_000
LINE = 50  # that much more for both, for each line of the file
LIGHT = 16  # values that hold fewer take no steps of their own
READ = 8 * LIGHT  # the same for values that are only read
LOOPS = 8  # a loop within so many others is followed once only; each loop around it doubles the steps
EFFECTS = 250  # attributes that a function sets at most that is taken to do only bookkeeping
DECORATING = 250  # that a decorator may take until it gives what it puts in the place of a function
IDLE = 2  # times that what it puts there changed nothing, before it is taken never to
HABIT = 4  # times that a function did only bookkeeping before it is taken to do so always


class Exhausted(Exception):
    """An entry point has taken all the steps that it may. `at` is the path and line of the statement where it has."""

    at: tuple[str, int] | None = None


@dataclass(slots=True, eq=False)
class Budget:
    """The steps that are left to the entry point at work, and what each file has taken so far."""

    left: int = ENTRY
    _spent: dict[str, int] = field(default_factory=dict)

    def begin(self, steps: int = ENTRY) -> None:
        """So many steps may be taken from here."""
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps. Raises Exhausted where there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted

    def carry(self, weight: int) -> None:
        """Take the steps for a value of such a weight. Raises Exhausted where there are not so many."""
        if weight >= LIGHT:
            self.spend(weight // LIGHT)

    def carry_all(self, values: Collection[Value]) -> None:
        """Take the steps for the arguments of a call, which are read and not copied. Raises as `carry` does."""
        if len(values) > READ:
            self.spend(len(values) // READ)
        for v in values:
            if v.weight > READ:
                self.spend(v.weight // READ)

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Within the block, no more than so many steps are left."""
        spared = max(self.left - steps, 0)
        self.left -= spared
        try:
            yield
        finally:
            self.left += spared

    def of_file(self, path: str, lines: int) -> int:
        """How many steps the entry points of a file may still take, 0 or less for none."""
        return FILE + LINE * lines - self._spent.get(path, 0)

    @contextmanager
    def entry(self, path: str, lines: int) -> Iterator[None]:
        """An entry point of a file of so many lines begins, and ends with the block."""
        granted = min(ENTRY + LINE * lines, self.of_file(path, lines))
        self.begin(granted)
        try:
            yield
        finally:
            self._spent[path] = self._spent.get(path, 0) + granted - max(self.left, 0)
