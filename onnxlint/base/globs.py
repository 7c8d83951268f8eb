"""Patterns as .gitignore spells them, each relative to the folder of the file that it is written in.

They mean what they mean to git, and are matched without backtracking: between two `*` the first place that fits is
taken, which is as good as any later one. The time is bounded by the length of the pattern times that of the path.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnxlint.base.paths import below
from onnxlint.base.records import grouped

LONGEST = 4096  # characters of a pattern: no path is longer
_NAMED = re.compile(r"\[:([^\]]*+)(?<=:)\]")  # `[:alpha:]` within `[…]`
_SETS = {"alnum:": "a-zA-Z0-9", "alpha:": "a-zA-Z", "blank:": " \t", "digit:": "0-9", "xdigit:": "0-9a-fA-F"}
_SETS |= {"lower:": "a-z", "upper:": "A-Z", "graph:": "!-~", "print:": " -~", "space:": r"\s"}
_SETS |= {"cntrl:": r"\x00-\x1f\x7f", "punct:": r"!-/:-@\[-`{-~"}


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern and the absolute folder that it is relative to."""

    pattern: str
    base: Path


class Patterns:
    """The patterns of one file or list. Later ones win; what is no pattern is passed over, as git does. With `whole`,
    `a/**` means the folder `a` as well as what is in it."""

    def __init__(self, lines: Iterable[str], whole: bool = False) -> None:
        self._include: list[bool] = []  # by number
        by_name: list[tuple[int, str]] = []
        by_path: list[tuple[int, str]] = []
        around: list[tuple[int, str]] = []
        for line in lines:
            try:
                parsed = _parsed(line, whole)
            except ValueError:
                continue
            if parsed is not None:
                include, anchored, regex, end = parsed
                number = len(self._include)
                self._include.append(include)
                (by_path if anchored else by_name).append((number, regex + end))
                around.append((number, f"{regex}/" if anchored else f"(?:[^/]+/)*?{regex}/"))
        self._by_name, self._by_path, self._around = _United(by_name), _United(by_path), _United(around)

    def verdict(self, path: str, folder: bool = False) -> bool | None:
        """Tell whether a relative path itself is meant (True), meant by a `!` pattern (False), or neither (None)."""
        end = "/" if folder else ""
        number = max(self._by_name.last(path.rpartition("/")[2] + end), self._by_path.last(path + end))
        return None if number < 0 else self._include[number]

    def means(self, path: str, folder: bool = False) -> bool:
        """Tell whether a relative path is meant or, if no pattern speaks of it, a folder that it lies in."""
        verdict = self.verdict(path, folder)
        if verdict is None and (number := self._around.last(path)) >= 0:
            verdict = self._include[number]
        return verdict is True


@dataclass(slots=True)
class Matcher:
    """The patterns of a list, ready to be held against paths; later patterns of one folder win, as in .gitignore."""

    globs: Sequence[Glob]
    _patterns: list[tuple[str, Patterns]] | None = field(default=None, init=False)

    def matches(self, path: str, folder: bool = False) -> bool:
        """Tell whether an absolute path, or a folder that it lies in, is meant by the patterns."""
        if not self.globs:
            return False
        if self._patterns is None:
            by_base = grouped(self.globs, lambda glob: glob.base).items()
            lines = ((os.path.abspath(base), (glob.pattern for glob in globs)) for base, globs in by_base)
            self._patterns = [(base, Patterns(patterns, whole=True)) for base, patterns in lines]
        places = ((patterns, below(path, base)) for base, patterns in self._patterns)
        return any(relative is not None and patterns.means(relative, folder) for patterns, relative in places)


def fault_of(pattern: str) -> str | None:
    """Return why `pattern` is none that .gitignore would know, or None."""
    try:
        _parsed(pattern)
    except ValueError as error:
        return str(error)
    return None


def parse_glob(pattern: str, base: Path) -> Glob:
    """Read a pattern that is relative to a folder. Raises ValueError."""
    if (fault := fault_of(pattern)) is not None:
        raise ValueError(f"`{pattern}` is not a pattern as .gitignore spells it: {fault}")
    return Glob(pattern, base)


class _United:
    """Numbered expressions as one, compiled when it is needed, which finds the last of them that matches."""

    def __init__(self, numbered: Sequence[tuple[int, str]]) -> None:
        self._numbered = numbered[::-1]
        self._regex: re.Pattern[str] | None = None

    def last(self, text: str) -> int:
        """The number of the last expression that matches at the beginning of a text; -1 where none does."""
        if not self._numbered:
            return -1
        if self._regex is None:  # an empty group at its end says which it was: one around it would cost much more
            self._regex = re.compile("|".join(f"{regex}()" for _, regex in self._numbered), re.DOTALL)
        match = self._regex.match(text)
        return -1 if match is None else self._numbered[(match.lastindex or 1) - 1][0]


def _parsed(line: str, whole: bool = False) -> tuple[bool, bool, str, str] | None:
    """Whether it includes, is relative to its folder (else it means names), its regex, its end; None for a comment."""
    text = line.rstrip(" ")
    if text != line and (len(text) - len(text.rstrip("\\"))) % 2:
        text += " "  # it is escaped
    if not text or text.startswith("#"):
        return None
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    bare = text.removeprefix("!")
    name = bare.removesuffix("/")
    segments = _segments(name.removeprefix("/"))
    if segments[-1] == [""]:
        raise ValueError("it names nothing")
    regex = _path_regex(segments, whole) if "/" in name else _segment_regex(segments[0])
    return not text.startswith("!"), "/" in name, regex, r"/\Z" if name != bare else r"/?\Z"


def _path_regex(segments: Sequence[Sequence[str]], whole: bool) -> str:
    """What stands between two `**` is taken where it first fits; what follows the last one has to fit at the end."""
    blocks: list[list[str]] = [[]]
    for pieces in segments:
        if len(pieces) > 2 and not any(pieces):
            blocks.append([])
        else:
            blocks[-1].append(_segment_regex(pieces))
    *before, last = blocks
    regex = "".join(f"{segment}/" for segment in before[0]) if before else ""
    regex += "".join(f"(?>(?:[^/]+/)*?{'/'.join(block)}/)" for block in before[1:] if block)
    if not last:
        return regex + (".*" if whole else ".+")
    return regex + ("(?:[^/]+/)*?" if before else "") + "/".join(last)


def _segment_regex(pieces: Sequence[str]) -> str:
    """One part of a path, given what stands around its stars: each piece is taken where it first fits, too."""
    if len(pieces) == 1:
        return pieces[0]
    if not any(pieces):
        return "[^/]+"
    first, *middle, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _segments(text: str) -> list[list[str]]:
    """The parts of a pattern between slashes, and of each what stands around its stars, as regular expressions."""
    segments = [[""]]
    at = 0
    while at < len(text):
        char, at = text[at], at + 1
        escaped = char == "\\"
        if escaped:
            if at == len(text):
                raise ValueError("it ends in a backslash")
            char, at = text[at], at + 1
        if char == "/":
            segments.append([""])
        elif char == "*" and not escaped:
            segments[-1].append("")
        elif char == "[" and not escaped:
            regex, at = _class(text, at)
            segments[-1][-1] += regex
        else:
            segments[-1][-1] += "[^/]" if char == "?" and not escaped else re.escape(char)
    return segments


def _class(text: str, at: int) -> tuple[str, int]:
    negated = text[at : at + 1] in ("!", "^")
    first = at = at + negated
    members = ""
    while at == first or text[at : at + 1] != "]":
        named = _NAMED.match(text, at)
        if named is not None:
            if named[1] not in _SETS:
                raise ValueError(f"there is no class `{named[0]}`")
            members, at = members + _SETS[named[1]], named.end()
            continue
        low, at = _member(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] != "]":
            high, at = _member(text, at + 1)
        if low <= high:  # else no character is meant
            members += f"{re.escape(low)}-{re.escape(high)}"
    if not members:
        return ("[^/]" if negated else r"(?!)"), at + 1
    return (f"[^/{members}]" if negated else f"(?!/)[{members}]"), at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    at += text[at : at + 1] == "\\"
    if at >= len(text):
        raise ValueError("a `[` lacks its `]`")
    return text[at], at + 1
