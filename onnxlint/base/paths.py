"""Paths: how they are shown in reports, whether a folder can be written to, and folders that git leaves alone."""

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path


def display_path(path: Path) -> str:
    """Return `path` relative to the working directory if it lies below it, else absolute; symlinks are kept."""
    absolute, here = os.path.abspath(path), os.getcwd()
    return "." if absolute == here else below(absolute, here) or absolute.replace(os.sep, "/")


def below(path: str, base: str) -> str | None:
    """Return an absolute path relative to a folder that it lies in, with slashes; None where it lies elsewhere."""
    prefix = base.rstrip(os.sep) + os.sep
    return path[len(prefix) :].replace(os.sep, "/") or None if path.startswith(prefix) else None


def package_path(path: str) -> str:
    """Return the path from the package on, for a file of an installed package; any other path as it is."""
    return re.split(r"[/\\](?:site|dist)-packages[/\\]", path)[-1]


def make_untracked(folder: Path) -> None:
    """Make a folder among its kind. Where that is the first, git is told to leave all of them alone."""
    first = not folder.parent.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    if first:
        (folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")


def remove_links(folder: Path) -> None:
    """Remove a folder that is a link, or the links in it: what is written there stays there. Raises OSError."""
    for path in (folder, *(folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ())):
        if path.is_symlink():
            path.unlink()


def unwritable(folder: Path) -> str | None:
    """Return why nothing can be written into a folder that may not exist yet, or None. Creates nothing."""
    for existing in (folder, *folder.parents):
        if os.path.lexists(existing):
            if not existing.is_dir():
                return f"{existing} is not a folder"
            return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} may not be written to"
    return None


def leads_out(path: Path, roots: Sequence[Path]) -> str | None:
    """Return why a file that is to be changed is not: a link to it leads out of `roots` and the working directory. The
    folder of a file among the roots counts, since the file itself may be the link."""
    target = led_out(path, (Path.cwd(), *(root if root.is_dir() else root.parent for root in roots)))
    if target is None:
        return None
    return f"only a link leads to {target}, which is outside of the checked folders: name that file to change it"


def keep_inside(path: Path) -> None:
    """Raise OSError where a path in the working directory is, or is behind, a link that leads out of it. Such a link is
    the checked tree's. A path elsewhere is the user's own word for where to write."""
    if Path(os.path.abspath(path)).is_relative_to(Path.cwd()):
        target = led_out(path, (Path.cwd(),))
        if target is not None:
            raise OSError(errno.ELOOP, f"a link leads out of the working directory, to {target}")


def led_out(path: Path, folders: Sequence[Path]) -> Path | None:
    """Return what a path leads to where that is in none of the folders."""
    target = Path(os.path.realpath(path))
    return None if any(target.is_relative_to(os.path.realpath(folder)) for folder in folders) else target
