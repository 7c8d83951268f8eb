"""What kept the analysis from a part of a file: an error of ours, or too many steps, costs that part alone."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from onnxlint.base.records import described
from onnxlint.flow.state.budget import ENTRY, Exhausted
from onnxlint.project.classes import ClassInfo, ModuleInfo

T = TypeVar("T", ModuleInfo, ClassInfo)
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept the analysis from a part of a file."""

    path: str
    message: str
    internal: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """What keeps the analysis from a class or an entry point costs that alone, and becomes a problem."""

    problems: list[Problem]
    debug: bool

    @contextmanager
    def over(self, path: str, name: str, line: int | None, granted: int = ENTRY) -> Iterator[None]:
        """Meanwhile this is analysed, in so many steps. An error of our own is raised where that is debugged."""
        try:
            yield
        except Exhausted as error:
            at = f", at line {error.at[1]}" if error.at else ""
            at += f" of {error.at[0]}" if error.at and error.at[0] != path else ""
            unseen = f"what it does past the first {granted:,}{at}, is not seen"
            message = f"{name} takes too many steps to analyse; {unseen}"
            self.problems.append(Problem(path, message, line=error.at[1] if error.at and error.at[0] == path else line))
        except RecursionError as error:
            self.problems.append(Problem(path, f"{name} is nested too deeply to analyse ({error})"))
        except Exception as error:
            if self.debug:
                raise
            message = f"internal error in {name}: {described(error)}; it is not analysed further"
            self.problems.append(Problem(path, message, True, line))

    def each(self, items: Iterable[T], of: Callable[[T], Iterable[U]]) -> Iterator[U]:
        """What `of` gives for every file or class; one that it fails for is left out."""
        for one in items:
            path, name, line = (one.path, "<module>", None) if isinstance(one, ModuleInfo) else place_of(one)
            with self.over(path, name, line):
                yield from of(one)

    def those(self, items: Iterable[T], test: Callable[[T], object]) -> list[T]:
        """Those that pass a test, without what it fails for."""
        passing: list[T] = []
        for one in items:
            try:
                passing += [one] if test(one) else []
            except Exception:  # noqa: BLE001 - told where it happens again
                passing += self.each([one], lambda one: [one] if test(one) else [])
        return passing


def place_of(cls: ClassInfo) -> tuple[str, str, int]:
    """The path, the name and the line of a class."""
    return cls.module.path, cls.qualname, cls.line
