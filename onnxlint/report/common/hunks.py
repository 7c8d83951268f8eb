"""A fix as whole lines: what a reviewer's suggestion replaces, and by what."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Edit, Fix, Sources, grouped

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
    """The lines of a file before and after a fix, some with their ends; `opcodes` are those of difflib."""

    path: str
    before: Sequence[str]
    after: Sequence[str]
    opcodes: Sequence[Opcode]

    def rows(self, tag: str, i: int, j: int, k: int, m: int) -> Iterator[tuple[str, int, str]]:
        """Sign, number and text of each line of a diff."""
        yield from ((" " if tag == "equal" else "-", n + 1, self.before[n].rstrip("\r\n")) for n in range(i, j))
        if tag != "equal":
            yield from (("+", n + 1, self.after[n].rstrip("\r\n")) for n in range(k, m))

    def patch(self) -> str:
        """The change as a unified diff, which `git apply` takes."""
        lines = [f"--- a/{self.path}", f"+++ b/{self.path}"]
        for group in in_groups(self.opcodes, 3):
            rows = []
            for tag, i, j, k, m in group:
                ends = (j < len(self.before)) != (m < len(self.after))  # one text goes on where the other is at its end
                for sign, number, line in self.rows("replace" if ends else tag, i, j, k, m):
                    if number < len(self.after if sign == "+" else self.before):
                        rows.append(f"{sign}{line}")
                    elif line:  # what is empty after the last newline is no line
                        rows.append(f"{sign}{line}\n\\ No newline at end of file")
            old, new = (sum(row[0] in signs for row in rows) for signs in (" -", " +"))
            _, i, _, k, _ = group[0]
            lines += [f"@@ -{i + (old > 0)},{old} +{k + (new > 0)},{new} @@", *rows]
        return "".join(f"{line}\n" for line in lines)


def hunks(fix: Fix, sources: Sources) -> list[Hunk]:
    """What the edits of a fix replace, in order; empty where they do not fit the source. What is inserted takes the
    line before it along, or the first line of the file, since a hunk replaces something."""
    replaced = []
    for change in edited(fix, sources):
        parts: list[tuple[int, int, int, int]] = []
        for tag, i, j, k, m in change.opcodes:
            if tag != "equal" and parts and i - parts[-1][1] <= _NEAR:
                parts[-1] = (parts[-1][0], j, parts[-1][2], m)
            elif tag != "equal":
                parts.append((i, j, k, m))
        for i, j, k, m in parts if change.before else ():
            before, behind = int(i == j and i > 0), int(i == j == 0)
            rows = tuple(line.rstrip("\r\n") for line in change.after[k - before : m + behind])
            replaced.append(Hunk(change.path, i - before + 1, j + behind, rows))
    return replaced


def edited(fix: Fix, sources: Sources) -> list[Edited]:
    """What a fix makes of each file that it changes; nothing where an edit does not fit a file."""
    by_path = grouped(fix.edits, lambda edit: edit.path)
    try:
        return [_edited(path, sources(path), edits) for path, edits in by_path.items()]
    except ValueError:  # the file changed since it was checked
        return []


def _edited(path: str, lines: list[str], edits: Sequence[Edit]) -> Edited:
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
    after = lines.copy()
    opcodes: list[Opcode] = []
    at = shift = 0
    for i, j, own in touched:
        old = [lines[n].rstrip("\r\n") for n in range(i, j)]
        moved = [replace(e, start=(e.start[0] - i, e.start[1]), end=(e.end[0] - i, e.end[1])) for e in own]
        new = apply_edits("\n".join(old), moved).split("\n")
        k = i + shift
        after[k : j + shift] = new
        inner = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        opcodes += [("equal", at, i, at + shift, k), *((tag, a + i, b + i, c + k, d + k) for tag, a, b, c, d in inner)]
        at, shift = j, shift + len(new) - (j - i)
    return Edited(path, lines, after, merged([*opcodes, ("equal", at, len(lines), at + shift, len(after))]))


def in_groups(opcodes: Sequence[Opcode], context: int) -> list[list[Opcode]]:
    """The changes with so many equal lines around them, those together that are near each other."""
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher()
    matcher.opcodes = list(opcodes)  # type: ignore[attr-defined]  # no need to look for them
    return list(matcher.get_grouped_opcodes(context))


def merged(opcodes: Sequence[Opcode]) -> list[Opcode]:
    """Put equal lines that follow each other into one, and leave out those that are none."""
    merged: list[Opcode] = []
    for tag, i, j, k, m in opcodes:
        if tag == "equal" and i == j:
            continue
        if merged and tag == merged[-1][0] == "equal":
            _, i, _, k, _ = merged.pop()
        merged.append((tag, i, j, k, m))
    return merged
