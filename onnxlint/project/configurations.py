"""What the configuration files of a project name: classes that no code names may be built by what these say."""

import os
import re
from functools import cached_property
from pathlib import Path, PurePath

from onnxlint.base.cache import digest
from onnxlint.base.files import read_text

FOLDERS, LARGEST = 5_000, 200_000  # folders that are looked at; bytes of a file that is read
_WORD = re.compile(r"[^\W\d]\w*")


class Configurations:
    """The YAML files of a project, which are read once somebody asks for their words."""

    def __init__(self, top: PurePath | None) -> None:
        self._top, self._asked = top, False

    @cached_property
    def words(self) -> frozenset[str]:
        """The words in the files below the folder; none where it has too many folders to look at."""
        self._asked = True
        return _words_below(self._top) if self._top is not None and self._top.is_absolute() else frozenset()

    @property
    def state(self) -> tuple[str, bytes]:
        """The folder and a hash of the words, if anybody asked for them: what was made of them holds as long."""
        return (str(self._top), digest(*sorted(self.words))) if self._asked else ("", b"")


def unchanged(state: tuple[str, bytes]) -> bool:
    """Whether the files of such a state have the same words now."""
    return not state[0] or digest(*sorted(Configurations(Path(state[0])).words)) == state[1]


def _words_below(top: PurePath) -> frozenset[str]:
    words: set[str] = set()
    for count, (folder, folders, files) in enumerate(os.walk(top)):
        if count > FOLDERS:
            return frozenset()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if name.endswith((".yaml", ".yml")):
                words.update(_WORD.findall(read_text(os.path.join(folder, name), LARGEST)))
    return frozenset(words)
