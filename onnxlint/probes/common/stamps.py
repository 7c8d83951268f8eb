"""Stamps of files, folders and variables: short texts that change when what they stand for does."""

import hashlib
import os
import stat
from collections.abc import Mapping

from onnxlint.base.files import read_bytes
from onnxlint.probes.common.userspace import is_installed

ABSENT = "absent"
LARGE = 64 * 1024 * 1024  # bytes from which on size and time of change have to do: hashing weights takes seconds


def of_bytes(data: bytes) -> str:
    """The stamp of some bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def of_variable(environment: Mapping[str, str], name: str) -> str:
    """The stamp of a variable of the environment; its value is not kept."""
    value = environment.get(name)
    return ABSENT if value is None else of_bytes(value.encode("utf-8", "surrogateescape"))


def of_file(path: str) -> str:
    """The stamp of a file by its bytes, of a folder by the names in it, of what is installed or large by its time."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            names = sorted(n for n in os.listdir(path) if n != "__pycache__" and not n.startswith("."))
            return f"folder:{of_bytes(os.fsencode(chr(0).join(names)))}"
        if not stat.S_ISREG(status.st_mode):
            return f"special:{status.st_mode}"
        if status.st_size >= LARGE or is_installed(path):  # what is installed is replaced, seldom edited
            return f"time:{status.st_size}:{status.st_mtime_ns}"
        return of_bytes(read_bytes(path, LARGE))
    except OSError:
        return ABSENT
