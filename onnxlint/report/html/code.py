"""Source excerpts: lines as pieces of text, each with its kind of token and whether the finding is about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from onnxlint.base.records import Span
from onnxlint.report.common.words import visible

_TAB = 4
_CONTEXT = 3  # lines before and after
_LONGEST = 12  # lines of a span that are shown
_MOST_LINES = 20_000  # of a file whose tokens are told apart
_LONGEST_LINE = 2000  # characters that are shown

_KINDS: Sequence[tuple[_TokenType, str]] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "d"),
    (Name.Builtin.Pseudo, "p"),
)


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
    """Excerpts of files, each read and told apart once."""

    def __init__(self, sources: Callable[[str], list[str]]) -> None:
        self._of_file = lru_cache(maxsize=32)(lambda path: _File([line.rstrip("\r\n") for line in sources(path)]))

    def around(self, span: Span) -> tuple[Line, ...]:
        """The lines of a span, with some before and after it; none where it is not in the file."""
        file = self._of_file(span.path)
        if not 1 <= span.line <= len(file.lines):
            return ()
        last = max(span.line, min(span.end_line, len(file.lines)))
        if last > span.line and span.end_column <= 1:
            last -= 1  # the span ends before the first character of that line
        numbers = list(range(max(1, span.line - _CONTEXT), min(len(file.lines), last + _CONTEXT) + 1))
        while numbers[0] < span.line and not file.lines[numbers[0] - 1].strip():
            del numbers[0]
        while numbers[-1] > last and not file.lines[numbers[-1] - 1].strip():
            del numbers[-1]
        if last - span.line + 1 > _LONGEST:
            head = [n for n in numbers if n < span.line + _LONGEST - 3]
            numbers = [*head, 0, *(n for n in numbers if n > last - 2)]
        return tuple(_line(file, number, span, last) if number else Line(0) for number in numbers)

    def at(self, path: str, number: int) -> tuple[Piece, ...]:
        """One line without its indentation; nothing where there is none."""
        file = self._of_file(path)
        if not 1 <= number <= len(file.lines):
            return ()
        indent = len(file.lines[number - 1]) - len(file.lines[number - 1].lstrip())
        return _pieces(file, number, (0, 0), indent)


class _File:
    """The lines of a file, and the kind of each of their characters."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._kinds: list[list[str]] | None = None

    def kinds(self, number: int) -> list[str]:
        """The kinds of the characters of a line."""
        if self._kinds is None:
            self._kinds = self._told_apart() if len(self.lines) <= _MOST_LINES else []
        kinds = self._kinds[number - 1] if number <= len(self._kinds) else []
        length = len(self.lines[number - 1])
        return kinds if len(kinds) == length else [""] * length

    def _told_apart(self) -> list[list[str]]:
        kinds: list[list[str]] = [[]]
        lexer = PythonLexer(stripnl=False, ensurenl=False)
        for _, token, text in lexer.get_tokens_unprocessed("\n".join(self.lines)):
            kind = next((name for of, name in _KINDS if token in of), "")
            for number, part in enumerate(text.split("\n")):
                if number:
                    kinds.append([])
                kinds[-1].extend([kind] * len(part))
        return kinds


def _line(file: _File, number: int, span: Span, last: int) -> Line:
    """One line of an excerpt, with the part that is in the span."""
    text = file.lines[number - 1]
    indent = len(text) - len(text.lstrip())
    if not span.line <= number <= last:
        return Line(number, _pieces(file, number, (0, 0)))
    first = span.column - 1 if number == span.line else indent
    after = span.end_column - 1 if number == span.end_line else len(text.rstrip())
    if number == span.line == span.end_line and after <= first:  # an empty span means the whole line
        first, after = indent, len(text.rstrip())
    return Line(number, _pieces(file, number, (first, after)), about=True)


def _pieces(file: _File, number: int, marked: tuple[int, int], start: int = 0) -> tuple[Piece, ...]:
    """A line from a character on, cut where its kind changes and where the marked part begins and ends."""
    text, kinds = file.lines[number - 1], file.kinds(number)
    pieces: list[Piece] = []
    column = 0
    for index in range(start, min(len(text), start + _LONGEST_LINE)):
        shown = " " * (_TAB - column % _TAB) if text[index] == "\t" else visible(text[index])
        column += len(shown)
        style = (kinds[index], marked[0] <= index < marked[1])
        if pieces and (pieces[-1].kind, pieces[-1].marked) == style:
            pieces[-1] = Piece(pieces[-1].text + shown, *style)
        else:
            pieces.append(Piece(shown, *style))
    if len(text) > start + _LONGEST_LINE:
        pieces.append(Piece("…"))
    return tuple(pieces)
