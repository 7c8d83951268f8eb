"""How a path is written in reports: relative to the working directory, with forward slashes, where that is possible."""

from __future__ import annotations

import os
import re
from pathlib import Path


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory if it lies below it, else absolute; symlinks are kept."""
    absolute = os.path.abspath(path)
    try:
        return Path(absolute).relative_to(Path.cwd()).as_posix() or "."
    except ValueError:
        return Path(absolute).as_posix()


def package_path(path: str) -> str:
    """Return the path from the package on, for a file of an installed package; any other path as it is."""
    return re.split(r"[/\\](?:site|dist)-packages[/\\]", path)[-1]
