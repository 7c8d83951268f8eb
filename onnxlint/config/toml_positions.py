"""Where each key of a valid TOML text stands: the positions that tomllib does not keep."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

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
    lines: dict[Key, int] = {}
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()  # no key of the text itself

    def note(key: Key, value: Any) -> int:
        line: int
        if isinstance(value, dict):
            line = min(inner if part == mark else note((*key, part), inner) for part, inner in value.items())
        elif isinstance(value, list):
            own = value[:1] if isinstance(value[0], int) else []
            line = min(own + [note((*key, number), inner) for number, inner in enumerate(value[len(own) :])])
        else:
            line = value
        lines[key] = line
        return line

    for part, value in tomllib.loads(_with_lines(text, mark)).items():
        note((part,), value)
    return lines


def _with_lines(text: str, mark: str) -> str:
    """The text with each scalar replaced by its line; an array begins with its own, and a table has it as `mark`."""
    parts: list[str] = []
    brackets: list[str] = []
    header = value = written = False
    for kind, token, line in _tokens(text):
        if kind == "newline":
            if not brackets:
                parts.append(f"\n{mark} = {line}\n" if header else "\n")
                header = value = False
        elif token == "=":
            parts.append(token)
            value, written = True, False
        elif token == ",":
            parts.append(token)
            value, written = brackets[-1] == "[", False
        elif token == "{" or (token == "[" and value):
            parts.append(token if token == "{" else f"[{line},")
            brackets.append(token)
            value, written = token == "[", False
        elif token in "]}" and brackets:
            parts[-1:] = [str(line)] if parts[-1] == "{" else [parts[-1], token]
            brackets.pop()
            value = written = True
        elif not value:  # of a key
            parts.append(token)
            header |= token == "["
        elif not written:  # a date or a number may be several
            parts.append(str(line))
            written = True
    return "".join(parts)


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


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            yield kind, match.group(), line
        line += match.group().count("\n")
    yield "newline", "", line
