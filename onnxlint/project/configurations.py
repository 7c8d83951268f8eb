"""What the configuration files of a project say: the classes that they name, and the settings that none changes."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath

from onnxlint.base.cache import digest
from onnxlint.base.files import read_text

FOLDERS, LARGEST = 5_000, 200_000  # folders that are looked at; bytes of a file that is read
_SETTING = re.compile(r"^[ \t]*(?=\w*_\w)(\w{8,})[ \t]*:[ \t]*([^\s#][^#\n]*|)", re.MULTILINE)
_PLAIN = {"null": None, "~": None, "none": None, "": None, "false": False, "true": True, "off": False, "on": True}
_FOLDER = re.compile(r"(?:config|conf|cfg)s?(?:[/\\]|$)")
_WORD = re.compile(r"[^\W\d]\w*")


class Configurations:
    """The YAML and JSON files of a project, and the Python files in folders of configurations, which are read once
    somebody asks for their words."""

    def __init__(self, top: PurePath | None) -> None:
        self._top, self._asked = top, False

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in the files below the folder; none where it has too many folders to look at."""
        return frozenset(word for text in (*self._yaml, *self._others) for word in _WORD.findall(text))

    @cached_property
    def of_yaml(self) -> frozenset[str]:
        """The words in the YAML files alone."""
        return frozenset(word for text in self._yaml for word in _WORD.findall(text))

    @cached_property
    def settings(self) -> Mapping[str, bool | str | None]:
        """What all YAML files that set a name such as `boundary_width` say alike: nothing, a flag, or one word."""
        said: dict[str, set[str]] = {}
        for name, value in _SETTING.findall("\n".join(self._yaml)):
            said.setdefault(name, set()).add(value.strip().strip("'\""))
        agreed = {name: next(iter(values)) for name, values in said.items() if len(values) == 1}
        plain = {name: _PLAIN.get(v.lower(), v) for name, v in agreed.items()}
        return {n: v for n, v in plain.items() if not isinstance(v, str) or v.isidentifier()}

    @property
    def _yaml(self) -> Sequence[str]:
        return self._texts[0]

    @property
    def _others(self) -> Sequence[str]:
        return self._texts[1]

    @cached_property
    def _texts(self) -> tuple[Sequence[str], Sequence[str]]:
        """The YAML files below the folder, and the other configurations; none where it has too many folders."""
        self._asked = True
        return _texts_below(self._top) if self._top is not None and self._top.is_absolute() else ((), ())

    @property
    def state(self) -> tuple[str, bytes]:
        """The folder and a hash of what the files say, if anybody asked for it: what was made of that holds as long."""
        said = sorted(f"{name}={value}" for name, value in self.settings.items()) if self._asked else ()
        return (str(self._top), digest(*sorted(self.words), "|", *said)) if self._asked else ("", b"")


def unchanged(state: tuple[str, bytes]) -> bool:
    """Whether the files of such a state say the same now."""
    if not state[0]:
        return True
    now = Configurations(Path(state[0]))
    now._asked = True
    return now.state == state


def _texts_below(top: PurePath) -> tuple[Sequence[str], Sequence[str]]:
    yaml: list[str] = []
    others: list[str] = []
    for count, (folder, folders, files) in enumerate(os.walk(top)):
        if count > FOLDERS:
            return (), ()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = _FOLDER.search(os.path.relpath(folder, top)) is not None
        for name in sorted(files):
            if name.endswith((".yaml", ".yml")):
                yaml.append(read_text(os.path.join(folder, name), LARGEST))
            elif (name.endswith(".py") and here) or (name.endswith(".json") and (here or "config" in name)):
                text = read_text(os.path.join(folder, name), LARGEST)
                others += [text] if "import torch" not in text else []  # that is code, wherever it stands
    return yaml, others
