"""Which torch a project pins, as its lock file, requirements or pyproject.toml say; read as text, never imported."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from onnxlint.base.files import read_text
from onnxlint.config.toml_positions import too_deep

_ROOT = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_FILES = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "requirements*.txt", "constraints*.txt")
_LOCKED = re.compile(r'^name = "torch"\r?\nversion = "([^"\n]+)"', re.MULTILINE)
_REQUIRED = re.compile(
    r"torch\s*+(?:\[[\w\s,.-]*+\])?+\s*+\(?+\s*+(?:===?+|~=(?=[^.]++\.[^.]++\.))\s*+v?(\d++(?:\.\d++)+)"
)
_BEHIND = re.compile(r"\s#|\s--|\\")
_LARGEST = 16_000_000  # bytes of a file that is worth reading


def project_of(folder: Path) -> Path:
    """The folder of the project that a folder is in: the nearest with a file that projects have, or else itself."""
    return next((f for f in (folder, *folder.parents) if any((f / name).exists() for name in _ROOT)), folder)


def pinned_torch(folder: Path) -> tuple[str, str] | None:
    """The version of torch that the project of `folder` pins, and the file that says so; None where none does.

    `torch==2.14.1`, `torch==2.14.*` and `torch~=2.14.0` are pins; a range such as `torch>=2.10` is none, nor is a
    requirement whose marker excludes the Python or the machine that onnxlint runs on.
    """
    root = project_of(folder)
    for pattern in _FILES:
        for path in sorted(root.glob(pattern)):
            text = read_text(path, _LARGEST)
            lines = (line.strip() for line in text.splitlines())
            locked = _LOCKED.search(text)
            version = locked[1] if locked is not None else _pinned(lines)
            if version is not None:
                return version, path.name
    version = _pinned(_declared(read_text(root / "pyproject.toml", _LARGEST)))
    return None if version is None else (version, "pyproject.toml")


def _pinned(requirements: Iterable[str]) -> str | None:
    """The version of the first of some requirements that pins torch here."""
    pins = ((_REQUIRED.match(text), text.partition(";")[2]) for text in requirements)
    return next((pin[1] for pin, marker in pins if pin is not None and (not marker or _holds(marker))), None)


def _holds(marker: str) -> bool:
    """Tell whether a marker, with options or a comment behind it, is true of this Python; one that is none is not."""
    from packaging.markers import Marker  # which few projects have

    try:
        return Marker(_BEHIND.split(marker, maxsplit=1)[0]).evaluate()
    except (ValueError, RecursionError):
        return False


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
        more = f"; {version['markers']}" if isinstance(version, dict) and "markers" in version else ""
        version = version.get("version") if isinstance(version, dict) else version
        if isinstance(version, str):
            yield f"torch{'' if version[:1] in '=~^<>!*' else '=='}{version}{more}"


def _at(table: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}
