"""Patterns as .gitignore spells them, each relative to the folder of the file that it is written in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern and the absolute folder that it is relative to."""

    pattern: str
    base: Path


@dataclass(slots=True)
class Matcher:
    """The patterns of a list, ready to be held against paths; later patterns of one folder win, as in .gitignore."""

    globs: Sequence[Glob]
    _specs: list[tuple[str, GitIgnoreSpec]] | None = field(default=None, init=False)

    def matches(self, path: str, folder: bool = False) -> bool:
        """Tell whether an absolute path, or a folder that it lies in, is meant by the patterns."""
        if not self.globs:
            return False
        if self._specs is None:
            self._specs = _compiled(self.globs)
        for base, spec in self._specs:
            relative = os.path.relpath(path, base).replace(os.sep, "/")
            if not relative.startswith("../") and spec.check_file(relative + "/" if folder else relative).include:
                return True
        return False


def fault_of(pattern: str) -> str | None:
    """Return why `pattern` is none that .gitignore would know, or None."""
    from pathspec import GitIgnoreSpec  # 20 ms that a run without patterns need not pay

    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        return str(error)
    return None


def _compiled(globs: Sequence[Glob]) -> list[tuple[str, GitIgnoreSpec]]:
    from pathspec import GitIgnoreSpec

    by_base: dict[Path, list[str]] = {}
    for glob in globs:
        by_base.setdefault(glob.base, []).append(glob.pattern)
    return [(os.path.abspath(base), GitIgnoreSpec.from_lines(lines)) for base, lines in by_base.items()]
