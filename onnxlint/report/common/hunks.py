"""A fix as whole lines: what a reviewer's suggestion replaces, and by what."""

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Edit, Fix

Opcode = tuple[str, int, int, int, int]

_NEAR = 3  # unchanged lines between two changes that are one hunk nevertheless


@dataclass(frozen=True, slots=True)
class Hunk:
    """The lines `first` to `last` of a file, both included and at least one, and the lines that take their place."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """The lines of a file before and after a fix; `opcodes` turn the ones into the others, as those of difflib do."""

    path: str
    before: Sequence[str]
    after: Sequence[str]
    opcodes: Sequence[Opcode]

    def groups(self, context: int) -> list[list[Opcode]]:
        """The changes with so many equal lines around them, those together that are near each other."""
        groups: list[list[Opcode]] = [[]]
        for number, (tag, i, j, k, m) in enumerate(self.opcodes):
            if tag == "equal" and number == 0:
                i, k = max(i, j - context), max(k, m - context)
            elif tag == "equal" and number == len(self.opcodes) - 1:
                j, m = min(j, i + context), min(m, k + context)
            elif tag == "equal" and j - i > 2 * context:
                groups[-1].append((tag, i, i + context, k, k + context))
                groups.append([])
                i, k = j - context, m - context
            groups[-1].append((tag, i, j, k, m))
        return [group for group in groups if any(tag != "equal" for tag, *_ in group)]

    def patch(self) -> str:
        """The change as a unified diff, which `git apply` takes."""
        lines = [f"--- a/{self.path}", f"+++ b/{self.path}"]
        for group in self.groups(3):
            rows = [row for opcode in group for row in self._rows(*opcode)]
            old, new = (sum(row[0] in signs for row in rows) for signs in (" -", " +"))
            _, i, _, k, _ = group[0]
            lines += [f"@@ -{i + (old > 0)},{old} +{k + (new > 0)},{new} @@", *rows]
        return "".join(f"{line}\n" for line in lines)

    def _rows(self, tag: str, i: int, j: int, k: int, m: int) -> Iterator[str]:
        if tag == "equal" and (j < len(self.before)) == (m < len(self.after)):
            yield from _signed(" ", self.before, i, j)
        else:
            yield from _signed("-", self.before, i, j)
            yield from _signed("+", self.after, k, m)


def _signed(sign: str, lines: Sequence[str], first: int, last: int) -> Iterator[str]:
    """Lines of a diff; the last of a text, after its last newline, is none where it is empty."""
    for number in range(first, last):
        if number < len(lines) - 1:
            yield f"{sign}{lines[number]}"
        elif lines[number]:
            yield f"{sign}{lines[number]}\n\\ No newline at end of file"


def hunks(fix: Fix, sources: Callable[[str], list[str]]) -> list[Hunk]:
    """What the edits of a fix replace, in order; empty where they do not fit the source.

    What is inserted takes the line before it along, or the first line of the file, since a hunk replaces something.
    """
    return [hunk for change in edited(fix, sources) for hunk in _changed(change)]


def edited(fix: Fix, sources: Callable[[str], list[str]]) -> list[Edited]:
    """What a fix makes of each file that it changes; nothing where an edit does not fit a file."""
    try:
        return [
            _edited(path, sources(path), [edit for edit in fix.edits if edit.path == path])
            for path in dict.fromkeys(edit.path for edit in fix.edits)
        ]
    except ValueError:  # the file changed since it was checked
        return []


class _Rows(Sequence[str]):
    """Lines of a file without their ends, with other lines in the place of some; only those asked for are read.

    A long file has many fixes: what takes a step for each of its lines must not be done for every fix.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._parts: list[tuple[int, int, Sequence[str] | None]] = [(0, 0, None)]  # begins at, shift, own lines
        self._end = len(lines)

    def put(self, first: int, last: int, rows: Sequence[str]) -> None:
        """Put rows in the place of the lines from `first` up to `last`, counted before any change; in their order."""
        at = first - self._parts[-1][1]
        shift = self._parts[-1][1] + last - first - len(rows)
        self._parts += [(at, 0, rows), (at + len(rows), shift, None)]
        self._end = len(self._lines) - shift

    def __len__(self) -> int:
        return self._end

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(self._end))]
        if not 0 <= at < self._end:
            raise IndexError(at)
        begin, shift, own = self._parts[bisect_right(self._parts, at, key=lambda part: part[0]) - 1]
        return own[at - begin] if own is not None else self._lines[at + shift].rstrip("\r\n")


def _edited(path: str, lines: Sequence[str], edits: Sequence[Edit]) -> Edited:
    """Compare the lines alone that edits touch. Raises ValueError where an edit does not fit."""
    touched: list[tuple[int, int, list[Edit]]] = []  # first and last line from 0, end exclusive, and what edits them
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end, edit.text)):
        i, j = edit.start[0] - 1, edit.end[0]
        if not 0 <= i < j <= len(lines):
            raise ValueError(f"the text has no lines {i + 1} to {j}")
        if touched and i < touched[-1][1]:
            first, last, with_it = touched.pop()
            touched.append((first, max(j, last), [*with_it, edit]))
        else:
            touched.append((i, j, [edit]))
    before, after = _Rows(lines), _Rows(lines)
    opcodes: list[Opcode] = []
    at = shift = 0
    for i, j, own in touched:
        old = before[i:j]
        moved = [replace(e, start=(e.start[0] - i, e.start[1]), end=(e.end[0] - i, e.end[1])) for e in own]
        new = apply_edits("\n".join(old), moved).split("\n")
        after.put(i, j, new)
        k = i + shift
        inner = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        opcodes += [("equal", at, i, at + shift, k), *((tag, a + i, b + i, c + k, d + k) for tag, a, b, c, d in inner)]
        at, shift = j, shift + len(new) - (j - i)
    return Edited(path, before, after, _merged([*opcodes, ("equal", at, len(before), at + shift, len(after))]))


def _merged(opcodes: Sequence[Opcode]) -> list[Opcode]:
    """Put equal lines that follow each other into one, and leave out those that are none."""
    merged: list[Opcode] = []
    for tag, i, j, k, m in opcodes:
        if tag == "equal" and i == j:
            continue
        if merged and tag == merged[-1][0] == "equal":
            _, i, _, k, _ = merged.pop()
        merged.append((tag, i, j, k, m))
    return merged


def _changed(change: Edited) -> list[Hunk]:
    parts: list[tuple[int, int, int, int]] = []
    for tag, i, j, k, m in change.opcodes:
        if tag == "equal":
            continue
        if parts and i - parts[-1][1] <= _NEAR:
            parts[-1] = (parts[-1][0], j, parts[-1][2], m)
        else:
            parts.append((i, j, k, m))
    return [_hunk(change.path, change.after, *part) for part in parts if change.before]


def _hunk(path: str, after: Sequence[str], i: int, j: int, k: int, m: int) -> Hunk:
    """Lines i to j of one text (from 0, end exclusive) become k to m of the other."""
    if i == j and i > 0:
        i, k = i - 1, k - 1
    elif i == j:
        j, m = j + 1, m + 1
    return Hunk(path, i + 1, j, tuple(after[k:m]))
