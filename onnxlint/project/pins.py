"""Which torch a project pins, as its lock file, requirements or pyproject.toml say; read as text, never imported."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnxlint.base.files import read_bytes
from onnxlint.config.toml_positions import too_deep

_ROOT = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_FILES = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "requirements*.txt", "constraints*.txt")
_LOCKED = re.compile(r'^name = "torch"\r?\nversion = "([^"\n]+)"', re.MULTILINE)
_REQUIRED = re.compile(
    r"torch\s*+(?:\[[\w\s,.-]*+\])?+\s*+\(?+\s*+(?:===?+|~=(?=[^.]++\.[^.]++\.))\s*+v?(\d++(?:\.\d++)+)"
)
_LARGEST = 16_000_000  # bytes of a file that is worth reading


def project_of(folder: Path) -> Path:
    """The folder of the project that a folder is in: the nearest with a file that projects have, or else itself."""
    return next((f for f in (folder, *folder.parents) if any((f / name).exists() for name in _ROOT)), folder)


def pinned_torch(folder: Path) -> tuple[str, str] | None:
    """The version of torch that the project of `folder` pins, and the file that says so; None where none does.

    `torch==2.14.1`, `torch==2.14.*` and `torch~=2.14.0` are pins; a range such as `torch>=2.10` is none.
    """
    root = project_of(folder)
    for pattern in _FILES:
        for path in sorted(root.glob(pattern)):
            text = _text(path)
            lines = (line.strip() for line in text.splitlines())
            pin = _LOCKED.search(text) or next(filter(None, map(_REQUIRED.match, lines)), None)
            if pin is not None:
                return pin[1], path.name
    pin = next(filter(None, map(_REQUIRED.match, _declared(_text(root / "pyproject.toml")))), None)
    return None if pin is None else (pin[1], "pyproject.toml")


def _text(path: Path) -> str:
    try:
        return read_bytes(path, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _declared(text: str) -> Iterator[str]:
    """The requirements of a pyproject.toml: of the project, its extras and its groups, and those of Poetry."""
    try:
        table = tomllib.loads(text) if "torch" in text and too_deep(text) is None else {}
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return  # whoever builds the project is told
    project, poetry = _at(table, "project"), _at(table, "tool", "poetry")
    lists = [project.get("dependencies"), *_at(project, "optional-dependencies").values()]
    lists += _at(table, "dependency-groups").values()
    for entries in lists:
        yield from (entry.strip() for entry in entries if isinstance(entry, str)) if isinstance(entries, list) else ()
    for group in (poetry, *_at(poetry, "group").values()):
        version = _at(group, "dependencies").get("torch") if isinstance(group, dict) else None
        version = version.get("version") if isinstance(version, dict) else version
        if isinstance(version, str):
            yield f"torch{version}" if version[:1] in "=~^<>!*" else f"torch=={version}"


def _at(table: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}
