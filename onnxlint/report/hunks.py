"""A fix as whole lines: what a reviewer's suggestion replaces, and by what."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from onnxlint.edits import apply_edits
from onnxlint.records import Edit, Fix

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
        found: list[list[Opcode]] = [[]]
        for number, (tag, i, j, k, m) in enumerate(self.opcodes):
            if tag == "equal" and number == 0:
                i, k = max(i, j - context), max(k, m - context)
            elif tag == "equal" and number == len(self.opcodes) - 1:
                j, m = min(j, i + context), min(m, k + context)
            elif tag == "equal" and j - i > 2 * context:
                found[-1].append((tag, i, i + context, k, k + context))
                found.append([])
                i, k = j - context, m - context
            found[-1].append((tag, i, j, k, m))
        return [group for group in found if any(tag != "equal" for tag, *_ in group)]

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
    found = []
    for path in dict.fromkeys(edit.path for edit in fix.edits):
        before = [line.rstrip("\r\n") for line in sources(path)]
        edits = [edit for edit in fix.edits if edit.path == path]
        try:
            after = apply_edits("\n".join(before), edits).split("\n")
        except ValueError:  # the file changed since it was checked
            return []
        found.append(Edited(path, before, after, _opcodes(before, after, edits)))
    return found


def _opcodes(before: Sequence[str], after: Sequence[str], edits: Sequence[Edit]) -> list[Opcode]:
    """Compare the lines alone that edits touch: to compare all of a long file, for each of its fixes, takes minutes."""
    touched: list[tuple[int, int, int]] = []  # first and last line from 0, end exclusive, and how many lines are added
    for start, end, text in sorted({(edit.start, edit.end, edit.text) for edit in edits}):
        i, j, more = start[0] - 1, end[0], text.count("\n") - (end[0] - start[0])
        if touched and i < touched[-1][1]:
            first, last, before_it = touched.pop()
            i, j, more = first, max(j, last), more + before_it
        touched.append((i, j, more))
    found: list[Opcode] = []
    at = shift = 0
    for i, j, more in touched:
        k, m = i + shift, j + shift + more
        inner = difflib.SequenceMatcher(None, before[i:j], after[k:m], autojunk=False).get_opcodes()
        found += [("equal", at, i, at + shift, k), *((tag, a + i, b + i, c + k, d + k) for tag, a, b, c, d in inner)]
        at, shift = j, shift + more
    return _merged([*found, ("equal", at, len(before), at + shift, len(after))])


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
