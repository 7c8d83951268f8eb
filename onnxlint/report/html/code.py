"""Source excerpts: lines as pieces of text, each with its kind of token and whether the finding is about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from onnxlint.base.records import Sources, Span
from onnxlint.report.common.words import visible

_TAB = 4
_CONTEXT = 3  # lines before and after
_LONGEST = 12  # lines of a span that are shown
_MOST_LINES = 20_000  # of a file whose tokens are told apart
_LONGEST_LINE = 2000  # characters that are shown

_TYPES = Comment, String, Number, Keyword, Operator.Word, Name.Function, Name.Class, Name.Decorator, Name.Builtin.Pseudo
_KINDS: Sequence[tuple[_TokenType, str]] = tuple(zip(_TYPES, "csnkkffdp", strict=True))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a line: `kind` is a class of the style sheet, `marked` tells that it is in the span."""

    text: str
    kind: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an excerpt; number 0 stands for lines that were left out."""

    number: int
    pieces: tuple[Piece, ...] = ()
    about: bool = False


class Excerpts:
    """Excerpts of files, each read and lexed once."""

    def __init__(self, sources: Sources) -> None:
        self._file = lru_cache(maxsize=32)(lambda path: _with_kinds([line.rstrip("\r\n") for line in sources(path)]))

    def around(self, span: Span) -> tuple[Line, ...]:
        """The lines of a span, with some before and after it; none where it is not in the file."""
        file = self._file(span.path)
        if not 1 <= span.line <= len(file):
            return ()
        last = max(span.line, min(span.end_line, len(file)))
        if last > span.line and span.end_column <= 1:
            last -= 1  # the span ends before the first character of that line
        numbers = list(range(max(1, span.line - _CONTEXT), min(len(file), last + _CONTEXT) + 1))
        while numbers[0] < span.line and not file[numbers[0] - 1][0].strip():
            del numbers[0]
        while numbers[-1] > last and not file[numbers[-1] - 1][0].strip():
            del numbers[-1]
        if last - span.line + 1 > _LONGEST:
            head = [n for n in numbers if n < span.line + _LONGEST - 3]
            numbers = [*head, 0, *(n for n in numbers if n > last - 2)]
        return tuple(_line(*file[number - 1], number, span, last) if number else Line(0) for number in numbers)

    def at(self, path: str, number: int) -> tuple[Piece, ...]:
        """One line without its indentation; nothing where there is none."""
        file = self._file(path)
        if not 1 <= number <= len(file):
            return ()
        text, kinds = file[number - 1]
        return _pieces(text, kinds, (0, 0), len(text) - len(text.lstrip()))


def _with_kinds(lines: list[str]) -> list[tuple[str, str]]:
    """Each line, with a letter or a space for the kind of each of its characters."""
    text = "\n".join(lines) if len(lines) <= _MOST_LINES else ""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text)
    drawn = (re.sub(r"[^\n]", next((name for of, name in _KINDS if kind in of), " "), part) for _, kind, part in tokens)
    kinds = "".join(drawn).split("\n")[: len(lines)]
    return [(line, its.ljust(len(line))) for line, its in zip_longest(lines, kinds, fillvalue="")]


def _line(text: str, kinds: str, number: int, span: Span, last: int) -> Line:
    """One line of an excerpt, with the part that is in the span."""
    indent = len(text) - len(text.lstrip())
    if not span.line <= number <= last:
        return Line(number, _pieces(text, kinds, (0, 0)))
    first = span.column - 1 if number == span.line else indent
    after = span.end_column - 1 if number == span.end_line else len(text.rstrip())
    if number == span.line == span.end_line and after <= first:  # an empty span means the whole line
        first, after = indent, len(text.rstrip())
    return Line(number, _pieces(text, kinds, (first, after)), about=True)


def _pieces(text: str, kinds: str, marked: tuple[int, int], start: int = 0) -> tuple[Piece, ...]:
    """A line from a character on, cut where its kind changes and where the marked part begins and ends."""
    pieces: list[Piece] = []
    column = 0
    for index, char in enumerate(text[start : start + _LONGEST_LINE], start):
        shown = " " * (_TAB - column % _TAB) if char == "\t" else visible(char)
        column += len(shown)
        style = (kinds[index].strip(), marked[0] <= index < marked[1])
        if pieces and (pieces[-1].kind, pieces[-1].marked) == style:
            pieces[-1] = Piece(pieces[-1].text + shown, *style)
        else:
            pieces.append(Piece(shown, *style))
    if len(text) > start + _LONGEST_LINE:
        pieces.append(Piece("…"))
    return tuple(pieces)
