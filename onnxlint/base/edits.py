"""Edits of a text: positions in it, and the text after them."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from onnxlint.base.records import Edit, Finding

_NEWLINE = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """The lines of a text as Python, and the protocol of editors, count them: a form feed ends none."""
    return _NEWLINE.split(text) if "\r" in text else text.split("\n")


def whole_word(name: str) -> str:
    """An expression for a name, or a dotted one, as no part of another. `re` finds what begins by letters 30 times as
    fast as what begins by `\\b`, so what is before them is asked last."""
    return rf"{(escaped := re.escape(name))}(?<!\w{escaped})\b"


def words_like(names: Iterable[str]) -> re.Pattern[str]:
    """An expression for the words that begin as one of some names does; the others are skipped as fast as letters."""
    return re.compile(rf"[A-Z{''.join(sorted({name[0] for name in names}))}](?<!\w.)\w*")


def with_word(text: str, name: str, word: str) -> str:
    """The text with a word in the place of each name that is no part of another; made without an expression, which
    would take longer to compile than to use once."""
    first, *others = text.split(name)
    pieces, left = [first], first[-1:]
    for n, piece in enumerate(others, 1):
        right = piece[:1] or name[:1] * (n < len(others))
        pieces += [name if any(c.isalnum() or c == "_" for c in left + right) else word, piece]
        left = piece[-1:] or name[-1:]
    return "".join(pieces)


class Lines:
    """Where each line of a text begins: places (line and column from 1) to offsets, and back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = "\r" not in text
        if not self._plain:
            self._starts = array("L", [0, *(newline.end() for newline in _NEWLINE.finditer(text))])
        else:
            self._starts = array("L", [0, *accumulate(map((1).__add__, map(len, text.split("\n")[:-1])))])

    def __len__(self) -> int:
        return len(self._starts)

    def offset(self, place: tuple[int, int]) -> int:
        """The offset of a place. Raises ValueError where the text has no such place."""
        line, column = place
        if not 1 <= line <= len(self._starts) or column < 1:
            raise ValueError(f"the text has no line {line}, column {column}")
        at = self._starts[line - 1] + column - 1
        if at > len(self.text) or (line < len(self._starts) and at >= self._starts[line]):
            raise ValueError(f"line {line} has no column {column}")
        return at

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def start(self, line: int) -> int:
        """The offset at which a line begins; a line past the end begins at the end."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def rows(self, first: int, last: int) -> str:
        """The text of some lines with newlines between them."""
        cut = last < len(self._starts)
        if self._plain:
            return self.text[self.start(first) : self._starts[last] - 1 if cut else None]
        text = "\n".join(lines_of(self.text[self.start(first) : self.start(last + 1)]))
        return text[:-1] if cut else text


def newline_of(text: str) -> str:
    """How the text ends its lines: as its first line does."""
    match = _NEWLINE.search(text)
    return match[0] if match else "\n"


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits of one file, with its own newlines. Raises ValueError on a place outside, or an overlap."""
    lines = Lines(text)
    newline = newline_of(text)
    pieces: list[str] = []
    at = 0
    for (start, end), new in sorted({((lines.offset(e.start), lines.offset(e.end)), e.text) for e in edits}):
        if start < at or end < start:
            raise ValueError("two edits overlap")
        pieces += [text[at:start], new.replace("\n", newline)]
        at = end
    return "".join([*pieces, text[at:]])


def written_lines(edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """First and last line of what each edit of one file writes, in the text after all of them."""
    places: dict[tuple[tuple[int, int], tuple[int, int], str], tuple[int, int]] = {}
    shift = 0
    for start, end, text in sorted({(e.start, e.end, e.text) for e in edits}):
        first = start[0] + shift
        places[start, end, text] = first, first + text.rstrip("\n").count("\n")
        shift += text.count("\n") - (end[0] - start[0])
    return [places[e.start, e.end, e.text] for e in edits]


def choose(findings: Sequence[Finding], texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """Take fixes in source order as long as none replaces a node that one before it replaces, holds or is held by. An
    equal edit is shared."""
    lines = {path: Lines(text) for path, text in texts.items()}
    chosen: list[Finding] = []
    changes: dict[Edit, tuple[int, int]] = {}  # the offsets of their nodes
    for finding in sorted(findings, key=_order):
        assert finding.fix is not None
        wanted: dict[Edit, tuple[int, int]] = {}
        for edit in finding.fix.edits:
            start, end = edit.node or (edit.start, edit.end)
            wanted[edit] = lines[edit.path].offset(start), lines[edit.path].offset(end)
        if not any(_collides(changes, edit, node) for edit, node in wanted.items()):
            chosen.append(finding)
            changes |= wanted
    return tuple(chosen)


def _order(finding: Finding) -> tuple[tuple[str, tuple[int, int]], str, str, tuple[tuple[tuple[int, int], str], ...]]:
    """In source order, and in one order whatever the order in which the findings came."""
    assert finding.fix is not None
    first = min((e.path, e.start) for e in finding.fix.edits)
    return first, finding.code, finding.text, tuple((e.end, e.text) for e in finding.fix.edits)


def _collides(changes: Mapping[Edit, tuple[int, int]], edit: Edit, node: tuple[int, int]) -> bool:
    if edit in changes:
        return False
    start, end = node
    for low, high in (place for other, place in changes.items() if other.path == edit.path):
        if start < high and low < end:
            return True
        if (start == end or low == high) and low <= end and start <= high:
            return True  # an insertion at, or beside, what is changed: which comes first would be chance
    return False
