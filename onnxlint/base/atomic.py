"""Replace a file as a whole, or not at all: no edit of another program is lost, and nothing is left beside it.

The new text is written to a file of its own, which takes the place of the old one if that still is what was expected.
What is left: an edit in the microseconds between the comparison and the rename. A process that is killed while it
writes leaves a `.onnxlint-new-…`; the next run that writes there, or fixes there, removes it.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from onnxlint.base.files import read_bytes
from onnxlint.base.interrupts import deferred

_PREFIX = ".onnxlint-new-"
_LEFT = re.compile(re.escape(_PREFIX) + "[0-9a-f]{16}")


class FileChanged(OSError):
    """The file is not what it was when it was read: nothing is written. `strerror` is a sentence for the user."""


def replace_file(path: Path, data: bytes, expected: bytes | None = None) -> None:
    """Put `data` in the place of a file, if it holds what was `expected` or that is None.

    Mode, owner and extended attributes are kept where we may set them, and a symbolic link stays one; other hard links
    to the file keep the old text. Raises OSError, of which FileChanged is one, and then the file is as it was.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    remove_leftovers([folder])
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a file system without locks
            stack.enter_context(_locked(folder, shared=True))
        stack.enter_context(deferred())  # while there is a file that must not stay
        named = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}")
        mode = 0o600 if os.path.exists(target) else 0o666
        with open(named, "xb", opener=partial(os.open, mode=mode)) as new:
            stack.callback(Path(named).unlink, missing_ok=True)
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
        with contextlib.suppress(FileNotFoundError):
            _keep_attributes(target, named)
        if expected is not None and not _holds(target, expected):
            raise FileChanged(errno.EBUSY, "the file has changed since it was read: run again")
        os.replace(named, target)


def remove_leftovers(folders: Iterable[str | Path]) -> None:
    """Delete what runs that were killed have left in folders where no run is at work; what is not ours stays."""
    for folder in folders:
        with contextlib.suppress(OSError), _locked(folder):
            for name in filter(_LEFT.fullmatch, os.listdir(folder)):
                path = os.path.join(folder, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    os.unlink(path)


@contextlib.contextmanager
def _locked(folder: str | Path, *, shared: bool = False) -> Iterator[None]:
    """Keep those who remove leftovers out of a folder, or be one. The lock ends with the process. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _holds(path: str, expected: bytes) -> bool:
    try:
        return read_bytes(path, len(expected), follow=False) == expected
    except OSError:  # deleted, or a link by now
        return False


def _keep_attributes(target: str, new: str) -> None:
    old = os.stat(target)
    with contextlib.suppress(PermissionError):
        os.chown(new, old.st_uid, old.st_gid)
    shutil.copystat(target, new)
    os.utime(new)
