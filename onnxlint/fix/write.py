"""Puts fixed text in the place of a file, if it is still what was read; and shows it as a unified diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onnxlint.atomic import FileChanged, replace_file
from onnxlint.edits import Lines


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after: `path` as reports write it, `target` where it lies, `before` the bytes as read."""

    path: str
    target: Path
    before: bytes
    old: str
    new: str
    encoding: str

    @property
    def after(self) -> bytes:
        """The bytes to write; an encoding with a BOM writes it again. Raises UnicodeEncodeError."""
        return self.new.encode(self.encoding)


def unwritable(target: Path) -> str | None:
    """Return why a file cannot be fixed, in one sentence, or None."""
    try:
        if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
            return "the file is read-only"
        folder = Path(os.path.realpath(target)).parent
        return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} may not be written to"
    except OSError as error:
        return error.strerror or str(error)


def write(change: Change) -> str | None:
    """Put the new text in the place of the old; return why that cannot be done, in one sentence, or None."""
    try:
        replace_file(change.target, change.after, change.before)
    except UnicodeEncodeError as error:
        return f"the fix cannot be written in the file's encoding, {change.encoding}: {error.reason}"
    except FileChanged as error:
        return str(error.strerror)
    except OSError as error:
        return f"the file cannot be written: {error.strerror or error}"
    return None


def unified_diff(change: Change) -> Iterator[str]:
    """The lines of a unified diff, each with its newline, as `patch` and `git apply` read them."""
    name = _quoted(change.path)
    for row in difflib.unified_diff(_lines(change.old), _lines(change.new), name, name):
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"


def _quoted(path: str) -> str:
    """A path as git writes it in a diff: a name that would steer a terminal or end the line is quoted as in C.

    A tab ends a name with spaces, since `patch` would take what follows the first space for a date.
    """
    if path.isprintable() and '"' not in path and "\\" not in path:
        return f"{path}\t" if " " in path else path
    plain = (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}" for byte in os.fsencode(path))
    return '"' + "".join(f"\\{char}" if char in ('"', "\\") else char for char in plain) + '"'


def _lines(text: str) -> list[str]:
    lines = Lines(text)
    ends = [*(lines.start(n) for n in range(2, len(lines) + 1)), len(text)]
    rows = [text[lines.start(n) : end] for n, end in enumerate(ends, 1)]
    return rows if rows[-1] else rows[:-1]
