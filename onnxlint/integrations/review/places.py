"""The lines of a pull request that a comment can stand on: those that its diff shows, in the new version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

Shown = Mapping[int, str]  # line number in the new version → its text, without the end of the line


@dataclass(frozen=True, slots=True)
class Place:
    """Lines `first` to `last` of a file, both within one hunk of the diff."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PullDiff:
    """What a pull request shows: by file the hunks, and the lines that it adds.

    `unshown` are files that it changes though GitHub shows no text of the change: binary ones, and very large changes.
    """

    hunks: Mapping[str, Sequence[Shown]]
    added: Mapping[str, frozenset[int]]
    unshown: frozenset[str]

    def place(self, path: str, first: int, last: int) -> Place | None:
        """The part of the lines that can be commented on; None where no line of them is shown.

        What matters is where it begins: a hunk that shows the first line is taken before one that shows others.
        """
        for wanted in ((first,), range(first, last + 1)):
            for hunk in self.hunks.get(path, ()):
                if any(line in hunk for line in wanted):
                    shown = [line for line in range(first, last + 1) if line in hunk]
                    return Place(path, shown[0], shown[-1])
        return None

    def whole(self, path: str, first: int, last: int) -> Place | None:
        """All of the lines, where one hunk shows every one of them."""
        if any(all(line in hunk for line in range(first, last + 1)) for hunk in self.hunks.get(path, ())):
            return Place(path, first, last)
        return None

    def same(self, place: Place, lines: Sequence[str]) -> bool:
        """Whether the file that was checked has the text there that the diff shows.

        It has not where another commit was checked out, such as the merge that GitHub makes of a pull request.
        """
        shown = next(hunk for hunk in self.hunks[place.path] if place.first in hunk)
        return place.last <= len(lines) and all(
            lines[number - 1].rstrip("\r\n") == shown[number] for number in range(place.first, place.last + 1)
        )

    def adds(self, path: str, first: int, last: int) -> bool:
        """Whether a line from `first` to `last` is one that the pull request adds."""
        return any(line in self.added.get(path, ()) for line in range(first, last + 1))


def read_files(files: Iterable[Mapping[str, Any]], warn: Callable[[str], None]) -> PullDiff:
    """Read the files of a pull request as GitHub's REST interface lists them (`GET …/pulls/N/files`)."""
    hunks: dict[str, list[Shown]] = {}
    added: dict[str, frozenset[int]] = {}
    unshown = set()
    for file in files:
        path, patch = str(file["filename"]), file.get("patch")
        if file.get("status") == "removed":
            continue
        if not patch:
            if file.get("changes", 1):  # a file that was only renamed has no patch either
                unshown.add(path)
            continue
        try:
            (parsed,) = PatchSet(f"--- a/file\n+++ b/file\n{patch}\n")
        except (UnidiffParseError, ValueError) as error:
            warn(f"the diff of {path} cannot be read, so nothing is commented on there: {error}")
            unshown.add(path)
            continue
        if not len(parsed):
            unshown.add(path)
            continue
        hunks[path] = [_shown(hunk) for hunk in parsed]
        added[path] = frozenset(line.target_line_no or 0 for hunk in parsed for line in hunk if line.is_added)
    return PullDiff(hunks, added, frozenset(unshown))


def _shown(hunk: Any) -> Shown:
    return {line.target_line_no: line.value.rstrip("\r\n") for line in hunk if line.is_added or line.is_context}
