"""Which operator table a run takes: that of the torch asked for, else pinned, else installed, else the newest."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from onnxlint.project.pins import pinned_torch

_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Choice:
    """The version of a shipped table, and why it is taken; `notice` where it is of another version of torch."""

    torch: str
    origin: str
    notice: str = ""


def choose(asked: str | None, origin: str, folder: Path | None) -> Choice:
    """Choose for a version `asked` for at `origin`, or else for the files in a folder; None: for what is installed."""
    pinned = pinned_torch(folder) if asked is None and folder is not None else None
    if asked is not None:
        version = asked
    elif pinned is not None:
        version, origin = pinned[0], f"torch {pinned[0]} in {pinned[1]}"
    else:
        try:
            version = metadata.version("torch")
            origin = f"torch {version} is installed"
        except metadata.PackageNotFoundError:
            return Choice(shipped()[-1], "the newest, as no torch is pinned or installed")
    table = nearest(version)
    if _release(version) == _release(table):
        return Choice(table, origin)
    lack = f"there is no operator table for torch {version}"
    return Choice(table, origin, f"{lack}: the static pass uses the one for torch {table} ({origin})")


@cache
def shipped() -> tuple[str, ...]:
    """The versions of torch that there is a table of, oldest first."""
    names = (path.name for path in resources.files("onnxlint.flow.tables").iterdir())
    versions = (name.removeprefix("ops-").removesuffix(".json") for name in names if name.startswith("ops-"))
    return tuple(sorted(versions, key=_release))


def nearest(version: str) -> str:
    """The shipped version nearest to one of torch (`2.13.1+cpu`): the same, else the next newer, else the newest."""
    return next((v for v in shipped() if _release(v) >= _release(version)), shipped()[-1])


def _release(version: str) -> tuple[int, ...]:
    """Major and minor number."""
    return tuple(map(int, _NUMBER.findall(version)[:2]))
