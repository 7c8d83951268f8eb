"""Where each key of a valid TOML text stands: the positions that tomllib does not keep."""

import re
import tomllib
from collections.abc import Iterator, Mapping

Key = tuple[str | int, ...]
DEEPEST = 100  # tables and arrays within each other, and parts of a key: tomllib takes quadratic time over them

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<string>\"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"{3,5})?|'{3}(?:[^']|'{1,2}(?!'))*+(?:'{3,5})?
          |"(?:[^"\\\n]|\\[^\n])*+"?|'[^'\n]*+'?)
      | (?P<mark>[\[\]{}=,.])
      | (?P<word>[^\s\[\]{}=,.\#"']+)""",
    re.VERBOSE | re.DOTALL,
)


def key_lines(text: str) -> Mapping[Key, int]:
    """Map the path of every key, table and array element to the line, from 1, where it is first written.

    `text` is TOML that tomllib has read without an error; an element of an array has its index as the last part.
    """
    return _Scan(text).document()


def too_deep(text: str) -> int | None:
    """Return the line, from 1, on which a text that need not be TOML goes deeper than `DEEPEST`, or None."""
    depth = dots = 0
    for kind, token, line in _tokens(text):
        if kind == "mark" and token == ".":
            dots += 1
        elif kind in ("mark", "newline"):
            dots = 0
            depth = max(depth + (token in "[{" and kind == "mark") - (token in "]}"), 0)
        if depth > DEEPEST or dots >= DEEPEST:
            return line
    return None


class _Scan:
    """One walk over the tokens of a TOML text, filling `lines`."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.lines: dict[Key, int] = {}
        self.elements: dict[Key, int] = {}
        self.advance()

    def advance(self) -> None:
        """Move to the next token; the last one is a newline without text."""
        self.kind, self.text, self.line = next(self.tokens)

    def note(self, key: Key) -> None:
        """Keep the first line of `key`, and of the tables that it opens on the way."""
        for end in range(1, len(key) + 1):
            self.lines.setdefault(key[:end], self.line)

    def document(self) -> dict[Key, int]:
        """Read the whole text."""
        table: Key = ()
        while (self.kind, self.text) != ("newline", ""):
            if self.kind == "newline":
                self.advance()
            elif self.text == "[":
                table = self.header()
            else:
                self.pair(table)
        return self.lines

    def header(self) -> Key:
        """Read `[a.b]` or `[[a.b]]` and return the path of the table it opens."""
        self.advance()
        array = self.text == "["
        if array:
            self.advance()
        table: Key = ()
        for part in self.dotted():
            # A name on the way that is an array of tables stands for its last element.
            table = (*table, part) if table not in self.elements else (*table, self.elements[table], part)
        if array:
            self.lines.setdefault(table, self.line)
            self.elements[table] = self.elements.get(table, -1) + 1
            table = (*table, self.elements[table])
        elif table in self.elements:
            table = (*table, self.elements[table])
        self.note(table)
        while self.text == "]":
            self.advance()
        return table

    def dotted(self) -> list[str]:
        """Read a key such as `a."b c".d`."""
        parts = [self.name()]
        while self.text == ".":
            self.advance()
            parts.append(self.name())
        return parts

    def name(self) -> str:
        """Read one part of a key."""
        text = self.text
        if self.kind == "string":
            text = next(iter(tomllib.loads(f"{text} = 0")))
        self.advance()
        return text

    def pair(self, table: Key) -> None:
        """Read `key = value` inside `table`."""
        line = self.line
        key = (*table, *self.dotted())
        for end in range(len(table) + 1, len(key) + 1):
            self.lines.setdefault(key[:end], line)
        self.advance()  # the equals sign
        self.value(key)

    def value(self, key: Key) -> None:
        """Read the value of `key`."""
        if self.text == "[":
            for index, _ in enumerate(self.members("]")):
                self.lines.setdefault((*key, index), self.line)
                self.value((*key, index))
        elif self.text == "{":
            for _ in self.members("}"):
                self.pair(key)
        else:  # a scalar: one string, or words and dots up to the end of the value
            while self.kind in ("word", "string") or self.text == ".":
                self.advance()

    def members(self, end: str) -> Iterator[None]:
        """Stop at each member of `[a, b]` or `{ a = 1 }`, which may span lines; whoever is there reads it."""
        self.advance()
        while self.text != end:
            if self.kind == "newline" or self.text == ",":
                self.advance()
            else:
                yield
        self.advance()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, text, line) of everything but blanks and comments."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            yield kind, match.group(), line
        line += match.group().count("\n")
    yield "newline", "", line
