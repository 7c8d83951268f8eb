"""Source that is not on the disk yet: a probe of a model whose file is about to be changed."""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader


def install(overlay: Mapping[str, str]) -> None:
    """Have Python import these files from here. `overlay` maps resolved paths to bytes, written as latin-1 text."""
    if not overlay:
        return
    data = {path: text.encode("latin-1") for path, text in overlay.items()}
    read, stat = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        source = data.get(os.path.realpath(path))
        return read(self, path) if source is None else source

    def path_stats(self: SourceFileLoader, path: str) -> Mapping[str, float]:
        if os.path.realpath(path) in data:
            raise OSError("the source is not on the disk, so compiled code that is there does not count")
        return stat(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[method-assign,assignment]  # the one place all imports of source go through
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]
    for path, source in data.items():
        text = source.decode("utf-8", "replace")
        linecache.cache[path] = (len(source), None, text.splitlines(keepends=True), path)
