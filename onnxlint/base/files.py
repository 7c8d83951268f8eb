"""The one reader for what may be of the checked tree: regular files alone, up to a size, and nothing is waited for.

A symbolic link is followed to wherever it leads unless `follow` is off; a device, pipe or socket is never opened.
"""

import errno
import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


class NotAFile(OSError):
    """It is there and is no regular file; `strerror` says what it is."""


class TooLong(OSError):
    """It is longer than its reader allows; `strerror` says how long."""


def kind(mode: int) -> str:
    """Return what a file that is not regular is, with its article."""
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def read_bytes(path: str | os.PathLike[str], limit: int, follow: bool = True) -> bytes:
    """Return the bytes of a regular file. Raises NotAFile, TooLong, or another OSError."""
    _size(os.stat(path, follow_symlinks=follow), limit)  # before it is opened: to open a device may set it going
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    handle = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        size = _size(os.fstat(handle), limit)
        data = part = os.read(handle, size + 1)
        while part and size < len(data) <= limit:  # it grows meanwhile
            part = os.read(handle, limit + 1 - len(data))
            data += part
    finally:
        os.close(handle)
    if len(data) > limit:
        raise TooLong(errno.EFBIG, _length(len(data), limit))
    if data and not size:
        raise NotAFile(errno.EINVAL, "it is no file with a length, as in /proc")
    return data


def read_text(path: str | os.PathLike[str], limit: int) -> str:
    """Return the text of a regular file; nothing of one that cannot be read."""
    try:
        return read_bytes(path, limit).decode("utf-8", "replace")
    except OSError:
        return ""


def own_text(module_file: str, name: str) -> str:
    """Return the text of a file of onnxlint's own, beside the module that asks (`own_text(__file__, "words.toml")`)."""
    return Path(module_file).with_name(name).read_text(encoding="utf-8")


def _size(status: os.stat_result, limit: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(errno.EINVAL, f"it is no file but {kind(status.st_mode)}")
    if status.st_size > limit:
        raise TooLong(errno.EFBIG, _length(status.st_size, limit))
    return status.st_size


def _length(size: int, limit: int) -> str:
    return f"it is {size / 1e6:.1f} MB long, the limit is {limit / 1e6:g} MB"
