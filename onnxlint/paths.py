"""How a path is written in reports: relative to the working directory, with forward slashes, where that is possible."""

from __future__ import annotations

import os
from pathlib import Path


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory if it lies below it, else absolute; symlinks are kept."""
    absolute = os.path.abspath(path)
    try:
        return Path(absolute).relative_to(Path.cwd()).as_posix() or "."
    except ValueError:
        return Path(absolute).as_posix()
