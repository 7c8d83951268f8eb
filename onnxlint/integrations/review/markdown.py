"""Text of the checked code and of other programs as Markdown: shown as it is, and steering nothing."""

from __future__ import annotations

import re

from onnxlint.report.common.words import clean

_CODE = re.compile(r"(`+)(.+?)\1")
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$]")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|#(?=\d)|(?<=\bGH-)(?=\d)|(?<=://)|(?<=\bwww)(?=\.)", re.ASCII | re.IGNORECASE)
_LIST = re.compile(r"^(\d*)([-=.])")  # at the beginning of a line: an item, or a heading of the line above
_UNSEEN = "\u200b"  # zero width: it keeps GitHub from making a mention, a reference or a link of what follows


def text(told: str, *, cell: bool = False) -> str:
    """One line of plain text, in which `code` between backticks stays code; for a cell of a table where `cell`."""
    told = clean(told)
    parts, at = [], 0
    for found in _CODE.finditer(told):
        parts += [_escaped(told[at : found.start()]), code(found[2], cell=cell)]
        at = found.end()
    return _LIST.sub(r"\1\\\2", "".join([*parts, _escaped(told[at:])]))


def code(told: str, *, cell: bool = False) -> str:
    """A piece of code, with as many backticks around it as it takes."""
    told = clean(told)
    fence = "`" * (max(map(len, re.findall(r"`+", told)), default=0) + 1)
    pad = " " if told.startswith("`") or told.endswith("`") else ""
    quoted = f"{fence}{pad}{told}{pad}{fence}"
    return quoted.replace("|", "\\|") if cell else quoted


def block(language: str, lines: list[str]) -> str:
    """Lines of code as a block of their own, whatever is in them."""
    ticks = max((len(run) for line in lines for run in re.findall(r"`{3,}", line)), default=2) + 1
    fence = "`" * ticks
    return "\n".join([f"{fence}{language}", *lines, fence])


def _escaped(told: str) -> str:
    told = _SPECIAL.sub(lambda found: "\\" + found[0], told)
    return _MENTION.sub(lambda found: found[0] + _UNSEEN, told)
