"""What is printed, as a whole: no text in it steers the terminal, and no line of it is a command to the log of a CI.

GitHub's runner reads every line of a log: `::name::` at its beginning, after white space, and `##[name]` anywhere are
commands; Azure's reads `##vso[name]`. Its comparison passes over characters without a width of their own.
"""

import re

from onnxlint.report.common.words import visible

_STYLE = r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*\x1b\\"  # what rich writes for colours and links
_STYLED = re.compile(f"({_STYLE})")
_LEADING = re.compile(rf"^((?:{_STYLE}|[^\S\n]|[^\x00-\x7f\w])*)::", re.MULTILINE)
_INSIDE = re.compile(rf"(#(?:{_STYLE}|[\ufe0e\ufe0f])*)#(?=(?:{_STYLE}|[\ufe0e\ufe0f]|\w)*\[)")
_PARTS = re.compile(r"([\n\t])")


def printed(text: str, *, styled: bool = False) -> str:
    """The text with its lines and tabs, and all else that steers made visible; columns stay where nothing did. `styled`
    text comes from our own console, which has made the characters of the texts in it visible."""
    text = _made_visible(text, styled=styled)
    text = _LEADING.sub(r"\1\\::", text) if "::" in text else text
    return _INSIDE.sub(r"\1 ", text) if "#" in text else text


def steering(line: str, *, logged: bool) -> str | None:
    """Say what of a line, without its end, must not be printed as it is, or None; `logged` where a CI reads along."""
    unsafe = next((c for c in line if c != "\t" and visible(c) != c), None)
    if unsafe is not None:
        return f"the character U+{ord(unsafe):04X}"
    return "a command to the log of the CI" if logged and printed(line) != line else None


def in_json(text: str) -> str:
    """A document in JSON, in which no string can be a command to a log; it holds what it held."""
    return _INSIDE.sub(r"\1\\u0023", text)


def in_xml(text: str) -> str:
    """The same for XML, which has no place for most characters that steer: they are made visible."""
    return _INSIDE.sub(r"\1&#35;", _LEADING.sub(r"\1&#58;:", _made_visible(text)))


def _made_visible(text: str, *, styled: bool = False) -> str:
    """The text in which no character steers, but those that end a line and tabs."""
    if text.isascii() and text.isprintable():
        return text
    parts = _STYLED.split(text) if styled else [text]
    parts[::2] = ["".join(p if p in ("\n", "\t") else visible(p) for p in _PARTS.split(part)) for part in parts[::2]]
    return "".join(parts)
