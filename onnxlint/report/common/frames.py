"""Code frames: the lines around a span, the span underlined, whatever the source is made of."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from rich.cells import cell_len
from rich.text import Text

from onnxlint.base.records import Span
from onnxlint.report.common.words import visible

GUTTER = "bold blue"
_TAB = 4
_LONGEST_SPAN = 6  # lines of a span that are shown in full


@dataclass(frozen=True, slots=True)
class _Line:
    """A source line as it is displayed: pieces of text, each with the cell it starts at."""

    pieces: tuple[str, ...]
    starts: tuple[int, ...]  # one more than pieces: the last is the width of the line

    def cell(self, column: int) -> int:
        """The cell at which the character of a column (from 1) starts."""
        return self.starts[max(0, min(column - 1, len(self.pieces)))]

    def window(self, start: int, width: int) -> str:
        """The part within `width` cells from cell `start`, with an ellipsis where it was cut."""
        if start == 0 and self.starts[-1] <= width:
            return "".join(self.pieces).rstrip()
        first = bisect_left(self.starts, start + (start > 0), 0, len(self.pieces))
        after = bisect_right(self.starts, start + width - (self.starts[-1] > start + width)) - 1
        lead = "…" if start and self.starts[-1] > start else ""
        tail = "…" if self.starts[-1] > start + width else ""
        return (lead + "".join(self.pieces[first:after]) + tail).rstrip()


def source_text(lines: Sequence[str], line: int) -> str:
    """A line's text without indentation, safe to print; empty where there is no such line."""
    return visible(lines[line - 1].strip().expandtabs(_TAB)) if 1 <= line <= len(lines) else ""


def code_frame(lines: Sequence[str], span: Span, label: str, *, width: int, gutter: int, style: str) -> list[Text]:
    """The frame as lines of at most `width` cells; empty if the span is not in the source. `gutter` is the width of the
    column of line numbers, `style` the colour of the underline and the label. An empty span means its whole line."""
    if not 1 <= span.line <= len(lines):
        return []
    last = max(span.line, min(span.end_line, len(lines)))
    if last > span.line and span.end_column <= 1:
        last -= 1  # the span ends before the first character of that line
    room = max(20, width - gutter - 3)
    if last == span.line:
        marked = _one_line(lines, span, label, room=room, style=style)
    else:
        marked = _many_lines(lines, span, last, label, room=room, style=style)
    bar = Text.styled(" " * (gutter + 1) + "|", GUTTER)
    return [bar, *(_with_gutter(number, text, gutter) for number, text in marked), bar]


_Marked = list[tuple[int | None, Text]]


def _one_line(lines: Sequence[str], span: Span, label: str, *, room: int, style: str) -> _Marked:
    text = lines[span.line - 1]
    line = _display(text)
    first, after = line.cell(span.column), line.cell(span.end_column)
    if after <= first:
        first, after = line.cell(len(text) - len(text.lstrip()) + 1), line.cell(len(text.rstrip()) + 1)
    after = max(after, first + 1)
    start = _window_start(line.starts[-1], first, after, room)
    result: _Marked = []
    for number in range(max(1, span.line - 1), min(len(lines), span.line + 1) + 1):
        shown = _display(lines[number - 1]).window(start, room)
        if number == span.line:
            low, high = max(first - start, int(start > 0)), min(after - start, room)
            result += [(number, _emphasized(shown, low, high)), *_underline(low, high, label, room=room, style=style)]
        elif shown:  # an empty line tells nothing
            result.append((number, Text(shown)))
    return result


def _emphasized(shown: str, low: int, high: int) -> Text:
    starts = list(accumulate(map(cell_len, shown), initial=0))
    text = Text(shown)
    text.stylize("bold", bisect_left(starts, low), bisect_left(starts, high))
    return text


def _underline(low: int, high: int, label: str, *, room: int, style: str) -> _Marked:
    carets = Text(" " * low + "^" * max(1, high - low), style=style)
    if not label:
        return [(None, carets)]
    if high + 1 + cell_len(label) <= room:
        return [(None, carets.append(f" {label}"))]
    at = low if room - low >= 32 else max(0, room - 32)
    return [(None, carets), *((None, Text.styled(" " * at + part, style)) for part in _wrap(label, room - at))]


def _many_lines(lines: Sequence[str], span: Span, last: int, label: str, *, room: int, style: str) -> _Marked:
    shown = list(range(span.line, last + 1))
    if len(shown) > _LONGEST_SPAN:
        shown = [*shown[: _LONGEST_SPAN - 3], 0, *shown[-2:]]
    room -= 2
    result: _Marked = []
    for number in shown:
        if not number:
            result.append((0, Text.styled("|", style)))
            continue
        mark = Text.styled("/ " if number == span.line else "| ", style)
        mark.append(Text.styled(_display(lines[number - 1]).window(0, room), "none"))
        result.append((number, mark))
    end = span.end_column if last == span.end_line else len(lines[last - 1].rstrip()) + 1
    reach = max(1, min(_display(lines[last - 1]).cell(end), room))
    foot = Text("|" + "_" * reach + "^", style=style)
    if label and reach + 3 + cell_len(label) <= room + 2:
        return [*result, (None, foot.append(f" {label}"))]
    return [*result, (None, foot), *((None, Text.styled("  " + part, style)) for part in _wrap(label, room))]


def _with_gutter(number: int | None, text: Text, gutter: int) -> Text:
    """`number` None is a line of marks, 0 stands for lines left out."""
    if number == 0:
        head = Text.styled("...".ljust(gutter + 3)[: max(3, gutter + 3)], GUTTER)
    else:
        head = Text.styled(f"{'' if number is None else number:>{gutter}} | ", GUTTER)
    line = Text.assemble(head, text)
    line.rstrip()
    return line


@lru_cache(maxsize=64)  # a long line has many findings
def _display(line: str) -> _Line:
    pieces: list[str] = []
    starts = [0]
    for char in line.rstrip("\r\n"):
        piece = " " * (_TAB - starts[-1] % _TAB) if char == "\t" else visible(char)
        pieces.append(piece)
        starts.append(starts[-1] + cell_len(piece))
    return _Line(tuple(pieces), tuple(starts))


def _window_start(width: int, first: int, after: int, room: int) -> int:
    """The first cell to show so that the span is seen with what stands before it, as far as there is room."""
    if width <= room or after <= room - 1:
        return 0
    spare = max(0, room - (after - first) - 2)
    return max(0, min(first - min(first, max(8, spare // 2)), width - room))


def _wrap(label: str, room: int) -> list[str]:
    """Break at spaces into parts of at most `room` cells; a longer word stays whole."""
    parts: list[str] = []
    for word in label.split():
        if parts and cell_len(parts[-1]) + 1 + cell_len(word) <= room:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts
