"""Shared memory, semaphores and message queues that processes have left: the system keeps them until a restart.

The system tells who made System V's shared memory, of their other objects only who used them last, and nothing of
POSIX's: so the processes of a model note what they make of these, in a file of the probe's own folder.
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
    """From now on, have this process and its children note the shared memory that they make."""
    native = _posixshmem.shm_open
    file = os.path.join(folder, _NOTES)

    @functools.wraps(native)
    def opened(path: Any, flags: Any, *more: Any, **named: Any) -> Any:
        handle = native(path, flags, *more, **named)
        if flags & os.O_EXCL:  # it is new
            with contextlib.suppress(OSError), open(file, "a") as notes:
                notes.write(f"{path}\n")
        return handle

    _posixshmem.shm_open = opened


def remove_left(pids: Collection[int], folder: str) -> int:
    """Remove what ended processes made, used last or noted in `folder`; return how many objects there were."""
    removed, names = 0, list[str]()
    with contextlib.suppress(OSError, ValueError):
        names = files.read_bytes(os.path.join(folder, _NOTES), _LONGEST).decode().splitlines()
    for name in dict.fromkeys(names):
        with contextlib.suppress(OSError, ValueError):
            _posixshmem.shm_unlink(name)
            removed += 1
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
