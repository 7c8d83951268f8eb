"""A fix as a small diff."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text

from onnxlint.base.records import Fix
from onnxlint.report.common.hunks import Edited, edited
from onnxlint.report.common.words import visible

_LONGEST = 12  # lines of a diff that are shown


def fix_diff(fix: Fix, sources: Callable[[str], list[str]]) -> Iterator[Text]:
    """The lines that the edits remove and add, file by file; edits that do not fit the source give nothing."""
    lines: list[Text] = []
    for change in edited(fix, sources):
        lines += _changes(change)
    yield from lines[:_LONGEST]
    if len(lines) > _LONGEST:
        yield Text.styled(f"… {len(lines) - _LONGEST} more lines", "dim")


def _changes(change: Edited) -> Iterator[Text]:
    for tag, i, j, k, m in change.opcodes:
        if tag == "equal":
            continue
        for number in range(i, j):
            yield _line("-", number + 1, change.before[number], "red")
        for number in range(k, m):
            yield _line("+", number + 1, change.after[number], "green")


def _line(sign: str, number: int, code: str, style: str) -> Text:
    return Text.styled(f"{number:>4} ", "dim").append(f"{sign} {visible(code.expandtabs(4))}", style=style)
