"""A fix as whole lines: what a reviewer's suggestion replaces, and by what."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnxlint.edits import apply_edits
from onnxlint.records import Fix

_NEAR = 3  # unchanged lines between two changes that are one hunk nevertheless


@dataclass(frozen=True, slots=True)
class Hunk:
    """The lines `first` to `last` of a file, both included and at least one, and the lines that take their place."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]


def hunks(fix: Fix, sources: Callable[[str], list[str]]) -> list[Hunk]:
    """What the edits of a fix replace, in order; empty where they do not fit the source.

    What is inserted takes the line before it along, or the first line of the file, since a hunk replaces something.
    """
    found: list[Hunk] = []
    for path, before, after in edited(fix, sources):
        found += _changed(path, before, after)
    return found


def edited(fix: Fix, sources: Callable[[str], list[str]]) -> list[tuple[str, list[str], list[str]]]:
    """Path, lines before and lines after of each file that a fix changes; none where an edit does not fit a file."""
    found = []
    for path in dict.fromkeys(edit.path for edit in fix.edits):
        before = [line.rstrip("\r\n") for line in sources(path)]
        try:
            after = apply_edits("\n".join(before), [edit for edit in fix.edits if edit.path == path])
        except ValueError:  # the file changed since it was checked
            return []
        found.append((path, before, after.split("\n")))
    return found


def _changed(path: str, before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    parts: list[tuple[int, int, int, int]] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        if parts and i - parts[-1][1] <= _NEAR:
            parts[-1] = (parts[-1][0], j, parts[-1][2], m)
        else:
            parts.append((i, j, k, m))
    return [_hunk(path, before, after, *part) for part in parts if before]


def _hunk(path: str, before: Sequence[str], after: Sequence[str], i: int, j: int, k: int, m: int) -> Hunk:
    """Lines i to j of one text (from 0, end exclusive) become k to m of the other."""
    if i == j and i > 0:
        i, k = i - 1, k - 1
    elif i == j:
        j, m = j + 1, m + 1
    return Hunk(path, i + 1, j, tuple(after[k:m]))
