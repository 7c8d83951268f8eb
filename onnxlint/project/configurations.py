"""What the configuration files of a project name: classes that no code names may be built by what these say."""

import os
import re
from pathlib import PurePath

from onnxlint.base.files import read_text

FOLDERS, LARGEST = 5_000, 200_000  # folders that are looked at; bytes of a file that is read
_WORD = re.compile(r"[^\W\d]\w*")


def words_of_configurations(top: PurePath | None) -> frozenset[str]:
    """The words in the YAML files below a folder; none where it has too many folders to look at."""
    words: set[str] = set()
    if top is None or not top.is_absolute():
        return frozenset()
    for count, (folder, folders, files) in enumerate(os.walk(top)):
        if count > FOLDERS:
            return frozenset()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if name.endswith((".yaml", ".yml")):
                words.update(_WORD.findall(read_text(os.path.join(folder, name), LARGEST)))
    return frozenset(words)
