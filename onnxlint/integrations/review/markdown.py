"""Text of the checked code and of other programs as Markdown: shown as it is, and steering nothing."""

import re

from onnxlint.report.common.words import clean

_CODE = re.compile(r"(`+)(.+?)\1")
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$]")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|#(?=\d)|(?<=\bGH-)(?=\d)|(?<=://)|(?<=\bwww)(?=\.)", re.ASCII | re.IGNORECASE)
_LIST = re.compile(r"^(\d*)([-=.])")  # at the beginning of a line: an item, or a heading of the line above
_UNSEEN = "\u200b"  # zero width: it keeps GitHub from making a mention, a reference or a link of what follows


def text(message: str, *, cell: bool = False) -> str:
    """One line of plain text, in which `code` between backticks stays code; for a cell of a table where `cell`."""
    message = clean(message)
    parts, at = [], 0
    for match in _CODE.finditer(message):
        parts += [_escaped(message[at : match.start()]), code(match[2], cell=cell)]
        at = match.end()
    return _LIST.sub(r"\1\\\2", "".join([*parts, _escaped(message[at:])]))


def code(piece: str, *, cell: bool = False) -> str:
    """A piece of code, with as many backticks around it as it takes."""
    piece = clean(piece)
    fence = "`" * (max(map(len, re.findall(r"`+", piece)), default=0) + 1)
    pad = " " if piece.startswith("`") or piece.endswith("`") else ""
    quoted = f"{fence}{pad}{piece}{pad}{fence}"
    return quoted.replace("|", "\\|") if cell else quoted


def block(language: str, lines: list[str]) -> str:
    """Lines of code as a block of their own, whatever is in them."""
    fence = "`" * (max((len(run) for line in lines for run in re.findall(r"`{3,}", line)), default=2) + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _escaped(message: str) -> str:
    return _MENTION.sub(rf"\g<0>{_UNSEEN}", _SPECIAL.sub(r"\\\g<0>", message))
