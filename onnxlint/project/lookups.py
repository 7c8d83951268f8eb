"""What a part of the analysis read of the project: the names it looked up, the texts it entered, the files it missed.

A result that is kept is good for as long as all of that is as it was.
"""

from collections.abc import Iterator
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


class Names(dict[str, V]):
    """What a module binds, by name. It tells the recording of the project which names are asked for.

    Going through all of them counts as reading the whole file.
    """

    __slots__ = ("_module",)

    def __init__(self, module: Any, names: dict[str, V]) -> None:
        super().__init__(names)
        self._module = module

    def __getitem__(self, name: str) -> V:
        self._module.note(f"name:{name}")
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._module.note(f"name:{name}")
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value under a name."""
        self._module.note(f"name:{name}")
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._module.note(WHOLE)
        return super().__iter__()

    def keys(self) -> Any:
        """Every name."""
        self._module.note(WHOLE)
        return super().keys()

    def values(self) -> Any:
        """Every value."""
        self._module.note(WHOLE)
        return super().values()

    def items(self) -> Any:
        """Every name with its value."""
        self._module.note(WHOLE)
        return super().items()
