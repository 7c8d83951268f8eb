"""Puts fixed text in the place of a file, if it is still what was read; and shows it as a unified diff."""

import difflib
import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base.atomic import FileChanged, replace_file
from onnxlint.report.common.hunks import Opcode, in_groups, merged

LONG = 2000  # lines from which on a file is compared piece by piece


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
    old, new = (list(io.StringIO(text, newline="")) for text in (change.old, change.new))  # lines as Python counts them
    rows = difflib.unified_diff(old, new, name, name) if len(old) < LONG else _long_diff(old, new, name)
    for row in rows:
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"


def _long_diff(old: list[str], new: list[str], name: str) -> Iterator[str]:
    """As difflib does it, piece by piece: it takes quadratic time where lines repeat, and pieces are short."""
    groups = in_groups(_opcodes(old, new), 3)
    if groups:
        yield from (f"--- {name}\n", f"+++ {name}\n")
    for group in groups:
        (_, first, _, start, _), (_, _, last, _, end) = group[0], group[-1]
        yield f"@@ -{_extent(first, last)} +{_extent(start, end)} @@\n"
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (f" {row}" for row in old[i:j])
            else:
                yield from (f"-{row}" for row in old[i:j])
                yield from (f"+{row}" for row in new[k:m])


def _extent(first: int, last: int) -> str:
    """Where lines stand, as a hunk says it: the first one and how many, or the line before none."""
    return f"{first + 1 if last > first else first},{last - first}"


def _opcodes(old: list[str], new: list[str]) -> list[Opcode]:
    """Compare what stands between the lines that occur once in both texts, in one order (a patience diff)."""
    codes: list[Opcode] = []
    i = k = 0
    for j, m in (*_anchors(old, new), (len(old), len(new))):
        piece = difflib.SequenceMatcher(None, old[i:j], new[k:m], autojunk=False).get_opcodes()
        codes += [(tag, i + p, i + q, k + r, k + s) for tag, p, q, r, s in piece]
        if j < len(old) and m < len(new):
            codes.append(("equal", j, j + 1, m, m + 1))
        i, k = j + 1, m + 1
    return merged(codes)


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Where the lines stand that occur once in both texts; of those that moved, the most that keep an order."""
    once = {row for row, count in (Counter(set(old)) + Counter(set(new))).items() if count == 2}
    once -= {row for text in (old, new) for row, count in Counter(text).items() if count > 1}
    left, right = ([at for at, row in enumerate(text) if row in once] for text in (old, new))
    matcher = difflib.SequenceMatcher(None, [old[at] for at in left], [new[at] for at in right], autojunk=False)
    return [(left[m.a + n], right[m.b + n]) for m in matcher.get_matching_blocks() for n in range(m.size)]


def _quoted(path: str) -> str:
    """A path as git writes it in a diff: quoted as in C where need be; a tab ends a name with spaces, for `patch`."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return f"{path}\t" if " " in path else path
    plain = (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}" for byte in os.fsencode(path))
    return '"' + "".join(f"\\{char}" if char in ('"', "\\") else char for char in plain) + '"'
