"""What a part of the analysis read of the project: the names it looked up, the texts it entered, the files it missed.

A result that is kept is good for as long as all of that is as it was.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

V = TypeVar("V")

WHOLE = "*"  # the key of all of a file


class Reads:
    """One recording: parts of modules, names of modules with the file that each meant, and other files looked at.

    The key of a part is `*` (all of a file), `name:x`, `text:qualname`, `value:qualname` or `class:qualname`.
    """

    __slots__ = ("keys", "modules", "probed")

    def __init__(self) -> None:
        self.keys: set[tuple[Any, str]] = set()
        self.modules: dict[tuple[str, str], Path | None] = {}
        self.probed: set[str] = set()


class Names(Mapping[str, V]):
    """What a module binds, by name. It tells the recording of the project which names are asked for.

    Going through all of them counts as reading the whole file.
    """

    __slots__ = ("_module", "_names")

    def __init__(self, module: Any, names: dict[str, V]) -> None:
        self._module = module
        self._names = names

    def __getitem__(self, name: str) -> V:
        self._module.note(f"name:{name}")
        return self._names[name]

    def __contains__(self, name: object) -> bool:
        self._module.note(f"name:{name}")
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        self._module.note(WHOLE)
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def values(self) -> Any:
        """Every value."""
        self._module.note(WHOLE)
        return self._names.values()
