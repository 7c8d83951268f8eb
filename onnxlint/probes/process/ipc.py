"""Shared memory, semaphores and message queues that processes have left: the system keeps them until a restart.

The system tells who made System V's shared memory, of their other objects only who used them last, and nothing of
POSIX's: so the processes of a model note what they make and unlink of these, in a file of the probe's own folder.
"""

import _posixshmem  # type: ignore[import-not-found]
import contextlib
import ctypes
import functools
import os
from collections.abc import Collection, Iterator
from typing import Any

from onnxlint.base import files

_NOTES = ".shared-memory"
_LONGEST = 1 << 20  # bytes of it
_REMOVE, _LAST_USER = 0, 11  # IPC_RMID, linux/ipc.h; GETPID, linux/sem.h
_SEMAPHORES = 64  # of one set that are asked for their last user


def note_made(folder: str) -> None:
    """From now on, have this process and its children note the shared memory that they make and unlink."""
    opens, unlinks = _posixshmem.shm_open, _posixshmem.shm_unlink
    file = os.path.join(folder, _NOTES)

    def note(sign: str, path: Any) -> None:
        with contextlib.suppress(OSError), open(file, "a") as notes:
            notes.write(f"{sign}{path}\n")

    @functools.wraps(opens)
    def opened(path: Any, flags: Any, *more: Any, **named: Any) -> Any:
        handle = opens(path, flags, *more, **named)
        if flags & os.O_EXCL:  # it is new
            note("+", path)
        return handle

    @functools.wraps(unlinks)
    def unlinked(path: Any) -> None:
        unlinks(path)
        note("-", path)

    _posixshmem.shm_open, _posixshmem.shm_unlink = opened, unlinked


def remove_left(pids: Collection[int], folder: str) -> int:
    """Remove what ended processes made, used last or noted in `folder`; return how many objects there were.

    Shared memory that Python's resource tracker has unlinked by now counts as well: it does so only with what a
    process has left, and may be faster than this.
    """
    removed, notes, file = 0, list[str](), os.path.join(folder, _NOTES)
    with contextlib.suppress(OSError, ValueError):
        notes = files.read_bytes(file, _LONGEST).decode().splitlines()
        os.unlink(file)  # what is noted there counts once
    left = {note[1:]: note.startswith("+") for note in notes}
    for name in (name for name, made in left.items() if made):
        removed += 1
        with contextlib.suppress(OSError, ValueError):
            _posixshmem.shm_unlink(name)
    library = ctypes.CDLL(None)
    for kind, key, columns in (("shm", "shmid", ("cpid",)), ("msg", "msqid", ("lspid", "lrpid")), ("sem", "semid", ())):
        for row in _table(kind):
            number, semaphores = row[key], range(min(row["nsems"], _SEMAPHORES)) if kind == "sem" else ()
            users = {row[column] for column in columns}
            users |= {library.semctl(number, n, _LAST_USER) for n in semaphores}
            if not users.isdisjoint(pids):
                arguments = (number, 0, _REMOVE) if kind == "sem" else (number, _REMOVE, None)
                removed += getattr(library, f"{kind}ctl")(*arguments) == 0
    return removed


def _table(kind: str) -> Iterator[dict[str, int]]:
    """The objects of a kind; none where the system has none of it."""
    with contextlib.suppress(OSError), open(f"/proc/sysvipc/{kind}") as file:
        names = next(file).split()
        for line in file:
            yield {name: int(value) for name, value in zip(names, line.split(), strict=True) if name != "perms"}
