"""The least of a file that has to parse after a fix: the statements that its edits stand in, not all around them."""

import ast
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Edit, Fix
from onnxlint.rules.engine.source_page import LeftOut, Page, Region
from onnxlint.source.parse import blocks, first_line, tree_of

LEAST, MOST = 1_000_000, 16  # characters that are parsed for the fixes of a file, and so many times its own


@dataclass(slots=True)
class _Piece:
    """Whole lines of statements; `indent` is that of their block, of which they are a `part` or all."""

    first: int
    last: int
    indent: str = ""
    part: bool = True
    edits: list[Edit] = field(default_factory=list)


def check(page: Page, fix: Fix, line: int) -> None:
    """Raise SyntaxError or ValueError unless the file parses after a fix of a finding in a line. Raises LeftOut where
    what was parsed for the fixes of this file adds up to too much."""
    if page.parsed > LEAST + MOST * len(page.text):
        raise LeftOut
    edits = [edit for edit in fix.edits if edit not in page.sound]
    region = page.region(line)
    within = all(region.first <= e.start[0] and e.end[0] <= region.last for e in edits)
    if within and _parse_alone(page, [_around(page, region, edit) for edit in edits]):
        return
    whole = _Piece(region.first, region.last) if within else _Piece(1, len(page.lines))
    tree_of(_after(page, replace(whole, edits=edits)))


def _parse_alone(page: Page, unsorted: Sequence[_Piece]) -> bool:
    """Whether every piece parses by itself, with a statement behind it; not where one of several is left empty."""
    pieces: list[_Piece] = []
    for piece in sorted(unsorted, key=lambda p: (p.first, -p.last)):
        if pieces and piece.first <= pieces[-1].last:
            if piece.last > pieces[-1].last:
                return False
            pieces[-1].edits += piece.edits
        else:
            pieces.append(piece)
    for piece in pieces:
        text = _after(page, piece)
        if text.rstrip("\r\n").endswith("\\"):
            return False
        if text and not text.endswith(("\n", "\r")):
            if piece.last < len(page.lines):
                return False  # what is below moves up to its last line
            text += "\n"
        try:
            tree = tree_of(f"if 1:\n{text}{piece.indent}pass" if piece.indent else text)
        except SyntaxError:
            return False
        if piece.indent:
            (block,) = tree.body if len(tree.body) == 1 else (None,)
            if not isinstance(block, ast.If) or (len(block.body) < 2 and (len(pieces) > 1 or not piece.part)):
                return False
    return True


def _after(page: Page, piece: _Piece) -> str:
    start, end, above = page.lines.start(piece.first), page.lines.start(piece.last + 1), piece.first - 1
    moved = [replace(e, start=(e.start[0] - above, e.start[1]), end=(e.end[0] - above, e.end[1])) for e in piece.edits]
    page.parsed += end - start
    return apply_edits(page.text[start:end], moved)


def _around(page: Page, region: Region, edit: Edit) -> _Piece:
    """The innermost statement around an edit, or the two that it is between."""
    first, last = edit.start[0], edit.end[0]
    if last > first and edit.end[1] == 1:
        last -= 1  # it ends with the line before
    best = _Piece(region.first, region.last)
    block: list[ast.stmt] | None = region.tree.body
    while block:
        at = through = max(bisect_right(block, first, key=first_line) - 1, 0)
        while through + 1 < len(block) and (
            (block[through].end_lineno or 0) < last or block[through + 1].lineno == block[through].end_lineno
        ):
            through += 1
        low, high = block[at], block[through]
        indent = page.line(low.lineno)[: low.col_offset]
        above = page.line(first_line(low) - 1)
        if not (indent.strip() or above.endswith("\\") or page.line(low.lineno).startswith("elif", low.col_offset)):
            part = through - at + 1 < len(block)
            best = _Piece(min(first, first_line(low)), max(last, high.end_lineno or 0), indent, part)
        if at != through or not first_line(low) <= first <= last <= (low.end_lineno or 0):
            break
        block = next((b for b in blocks(low) if first_line(b[0]) <= first and last <= (b[-1].end_lineno or 0)), None)
    return replace(best, edits=[edit])
