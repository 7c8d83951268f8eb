"""A fix as a small diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from onnxlint.records import Edit, Fix
from onnxlint.report.words import visible

_LONGEST = 12  # lines of a diff that are shown


def fix_diff(fix: Fix, sources: Callable[[str], list[str]]) -> Iterator[Text]:
    """The lines that the edits remove and add, file by file; edits that do not fit the source give nothing."""
    lines: list[Text] = []
    for path in dict.fromkeys(edit.path for edit in fix.edits):
        before = [line.rstrip("\r\n") for line in sources(path)]
        edited = apply_edits(before, [edit for edit in fix.edits if edit.path == path])
        if edited is not None:
            lines += _changes(before, edited)
    yield from lines[:_LONGEST]
    if len(lines) > _LONGEST:
        yield Text.styled(f"… {len(lines) - _LONGEST} more lines", "dim")


def apply_edits(lines: Sequence[str], edits: Sequence[Edit]) -> list[str] | None:
    """The lines after the edits; None where one lies outside the text or two overlap."""
    text = "\n".join(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: tuple[int, int]) -> int:
        line, column = place
        if line == len(lines) + 1 and column <= 1:
            return len(text)
        if not 1 <= line <= len(lines) or column > len(lines[line - 1]) + 1:
            return -1
        return starts[line - 1] + max(column, 1) - 1

    limit = len(text)
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        first, after = offset(edit.start), offset(edit.end)
        if first < 0 or not first <= after <= limit:
            return None
        text = text[:first] + edit.text + text[after:]
        limit = first
    return text.split("\n")


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[Text]:
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for number in range(i, j):
            yield _line("-", number + 1, before[number], "red")
        for number in range(k, m):
            yield _line("+", number + 1, after[number], "green")


def _line(sign: str, number: int, code: str, style: str) -> Text:
    return Text.styled(f"{number:>4} ", "dim").append(f"{sign} {visible(code.expandtabs(4))}", style=style)
