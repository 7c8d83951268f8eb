"""What earlier runs wrote down of files, one entry of the cache for each folder: to create a file takes its time."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from onnxlint.base.cache import Store, digest

KIND = "outlines"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[bytes, tuple[bytes, bytes]]).decode


class OutlineCache:
    """Outlines as bytes, by the path of a file and the hash of what was in it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folders: dict[Path, dict[bytes, tuple[bytes, bytes]]] = {}  # by a file's name, its hash and outline
        self._changed: dict[Path, None] = {}

    def get(self, path: Path, hashed: bytes) -> bytes | None:
        """The outline of a file with that hash, if one is kept."""
        before, outline = self._of(path.parent).get(os.fsencode(path.name), (b"", b""))
        return outline if before == hashed else None

    def put(self, path: Path, hashed: bytes, outline: bytes) -> None:
        """Keep an outline with the next `write`."""
        if self._store.usable:
            self._of(path.parent)[os.fsencode(path.name)] = hashed, outline
            self._changed[path.parent] = None

    def write(self) -> None:
        """Write what was kept since the last time."""
        for folder in self._changed:
            self._store.put(KIND, digest(os.fsencode(folder)), _encode(self._folders[folder]))
        self._changed.clear()

    def _of(self, folder: Path) -> dict[bytes, tuple[bytes, bytes]]:
        if folder not in self._folders:
            data, self._folders[folder] = self._store.get(KIND, digest(os.fsencode(folder))), {}
            with suppress(msgspec.MsgspecError, RecursionError):
                self._folders[folder] = _decode(data) if data is not None else {}
        return self._folders[folder]
