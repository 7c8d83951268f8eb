"""The lines of a pull request that a comment can stand on: those that its diff shows, in the new version."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from onnxlint.base.records import Sources

MOST = 5_000_000  # comparisons of lines to find the hunks of one file: they take seconds


@dataclass(frozen=True, slots=True)
class Place:
    """Lines `first` to `last` of a file as the pull request has it, both within one hunk of the diff."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Part:
    """A hunk of the diff: the text of each line that it shows of the new version, and which of them it adds.

    In the file that was checked these lines stand `moved` lines further down.
    """

    shown: Mapping[int, str]
    added: frozenset[int]
    moved: int = 0

    def holds(self, line: int) -> bool:
        """Whether it shows a line of the file that was checked."""
        return line - self.moved in self.shown


@dataclass(frozen=True, slots=True)
class PullDiff:
    """What a pull request shows: the hunks of each file, as GitHub lists them.

    `unshown` are files that it changes though GitHub shows no text of the change, which is too large then.
    `sources` knows the files that were checked, by their paths in the repository. They are not always those of the pull
    request's own commit: what GitHub Actions checks out is its merge with the base, in which lines have moved.
    """

    files: Mapping[str, Sequence[Part]]
    unshown: frozenset[str]
    sources: Sources
    _fitted: dict[str, list[Part]] = field(default_factory=dict)

    def place(self, path: str, first: int, last: int) -> Place | None:
        """The part of the lines that can be commented on; None where no line of them is shown as it was checked.

        What matters is where it begins: a hunk that shows the first line is taken before one that shows others.
        """
        for wanted in ((first,), range(first, last + 1)):
            for part in self._parts(path):
                if any(map(part.holds, wanted)):
                    shown = [line for line in range(first, last + 1) if part.holds(line)]
                    return self._same(path, part, shown[0], shown[-1])
        return None

    def whole(self, path: str, first: int, last: int) -> Place | None:
        """All of the lines, where one hunk shows every one of them as it was checked."""
        lines = range(first, last + 1)
        return next((self._same(path, p, first, last) for p in self._parts(path) if all(map(p.holds, lines))), None)

    def adds(self, path: str, first: int, last: int) -> bool:
        """Whether a line from `first` to `last` is one that the pull request adds."""
        return any(line - part.moved in part.added for part in self._parts(path) for line in range(first, last + 1))

    def differs(self, path: str) -> bool:
        """Whether the file that was checked lacks something that the pull request shows of it."""
        lines = self.sources(path)
        return any(not _stands(part.shown, part.moved, lines) for part in self._parts(path))

    def _parts(self, path: str) -> Sequence[Part]:
        if path not in self._fitted:
            self._fitted[path] = _fitted(self.files.get(path, ()), self.sources(path))
        return self._fitted[path]

    def _same(self, path: str, part: Part, first: int, last: int) -> Place | None:
        shown = {line - part.moved: part.shown[line - part.moved] for line in range(first, last + 1)}
        stands = _stands(shown, part.moved, self.sources(path))
        return Place(path, first - part.moved, last - part.moved) if stands else None


def _fitted(parts: Sequence[Part], lines: Sequence[str]) -> list[Part]:
    """Find each hunk in the file that was checked, nearest to where the one before it leads to expect it.

    It is looked for where its rarest line stands, and no longer than `MOST` comparisons of lines for the whole file.
    """
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines if parts else (), 1):
        places.setdefault(line.rstrip("\r\n"), []).append(number)
    fitted = []
    moved, left = 0, MOST
    for part in parts:
        rarest = min(part.shown, key=lambda n: len(places.get(part.shown[n], ())), default=0)
        shifts = sorted((n - rarest for n in places.get(part.shown.get(rarest, ""), ())), key=lambda n: abs(n - moved))
        for shift in shifts[: left // max(len(part.shown), 1)]:
            left -= len(part.shown)
            if _stands(part.shown, shift, lines):
                moved = shift
                part = Part(part.shown, part.added, moved)
                break
        fitted.append(part)
    return fitted


def _stands(shown: Mapping[int, str], moved: int, lines: Sequence[str]) -> bool:
    """Whether the file has these lines, so much further down."""
    places = ((number + moved, text) for number, text in shown.items())
    return all(0 < number <= len(lines) and lines[number - 1].rstrip("\r\n") == text for number, text in places)


def read_files(files: Iterable[Mapping[str, Any]], sources: Sources, warn: Callable[[str], None]) -> PullDiff:
    """Read the files of a pull request as GitHub's REST interface lists them (`GET …/pulls/N/files`)."""
    parts: dict[str, list[Part]] = {}
    unshown = set()
    for file in files:
        path, patch = str(file["filename"]), file.get("patch")
        if file.get("status") == "removed":
            continue
        if not patch:
            if file.get("changes", 1):  # one that is binary or was only renamed has no patch either
                unshown.add(path)
            continue
        try:
            (parsed,) = PatchSet(f"--- a/file\n+++ b/file\n{patch}\n")
        except (UnidiffParseError, ValueError) as error:
            warn(f"the diff of {path} cannot be read, so nothing is commented on there: {error}")
            unshown.add(path)
            continue
        if len(parsed):
            parts[path] = [_part(hunk) for hunk in parsed]
        else:
            unshown.add(path)
    return PullDiff(parts, frozenset(unshown), sources)


def _part(hunk: Any) -> Part:
    shown = {line.target_line_no: line.value.rstrip("\r\n") for line in hunk if line.is_added or line.is_context}
    return Part(shown, frozenset(line.target_line_no for line in hunk if line.is_added))
