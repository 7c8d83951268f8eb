"""Replace a file as a whole, or not at all: no edit of another program is lost, and nothing is left beside it.

The new text is written to a file without a name. It gets one only for the moment in which it changes places with the
old file; what came out is compared, and goes back unless it is what was expected. So an editor that renames its own
file over the target loses nothing. One that writes in place is kept away by a lease (Linux, on files of the user):
whoever has the file open for writing makes us refuse, and whoever opens it waits until the exchange is over or undone.

What is left: a program that is inside open(2), past the lookup of the name and before the lease, for as long as the
exchange takes (about 50 µs); without a lease, one that had opened the file before and writes to it afterwards; without
an exchange or nameless files (not Linux, some network file systems), an edit between the comparison and the rename. A
process killed in those 50 µs leaves a `.onnxlint-…`; the next run that writes there, or fixes there, removes it.
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base.interrupts import deferred

_PREFIX = ".onnxlint-"
_NEW = "new"  # in the place of the first digest: no file of the user has ever been under this name
_EXCHANGE = 2  # RENAME_EXCHANGE
_ROUNDS = 1000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

_State = tuple[int, bytes]  # inode and content of a file


class FileChanged(OSError):
    """The file is not what it was when it was read: nothing is written. `strerror` is a sentence for the user."""


def replace_file(path: Path, data: bytes, expected: bytes | None = None) -> None:
    """Put `data` in the place of a file, if it holds what was `expected` or that is None. Mode, owner and extended
    attributes are kept where we may set them, and a symbolic link stays one; other hard links to the file keep the old
    text. Raises OSError, of which FileChanged is one, and then the file is as it was."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    remove_leftovers([folder])
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a file system without locks
            stack.enter_context(_locked(folder, shared=True))
        old = None if expected is None else _opened(target, expected, stack)
        key = _NEW if expected is None else _digest(expected)
        named = os.path.join(folder, f"{_PREFIX}{_NEW}-{secrets.token_hex(8)}")
        new, nameless = _create(folder, named, 0o600 if os.path.exists(target) else 0o666)
        stack.callback(os.close, new)
        if not nameless:
            stack.callback(Path(named).unlink, missing_ok=True)
        _keep_attributes(target, new)
        left = memoryview(data)
        while left:
            left = left[os.write(new, left) :]
        os.fsync(new)
        inside = os.fstat(new).st_ino, data
        root = os.open("/", os.O_RDONLY)
        stack.callback(os.close, root)
        stack.enter_context(deferred())  # for the moment in which a file has a name that it must not keep
        if nameless:
            named = os.path.join(folder, f"{_PREFIX}{key}-{_digest(data)}-{secrets.token_hex(4)}")
            stack.callback(Path(named).unlink, missing_ok=True)
            # With a folder, Python calls linkat(2), which follows the link in /proc.
            os.link(f"/proc/self/fd/{new}", named, src_dir_fd=root, follow_symlinks=True)
        if old is None or not (nameless and _exchanged(named, target, old, inside)):
            if old is not None and _state(target) != old.state:
                raise _changed()
            os.replace(named, target)


def remove_leftovers(folders: Iterable[str | Path]) -> None:
    """Delete what runs that were killed have left in folders where no run is at work; what is not ours stays."""
    for folder in folders:
        with contextlib.suppress(OSError), _locked(folder):
            for name in os.listdir(folder):
                if name.startswith(_PREFIX):
                    _remove_leftover(os.path.join(folder, name), *name.removeprefix(_PREFIX).split("-")[:2])


def _remove_leftover(path: str, before: str, after: str = "") -> None:
    ours = stat.S_ISREG(os.lstat(path).st_mode) and (before == _NEW or _digest(_state(path)[1]) in (before, after))
    if ours and after:
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


def _changed(reason: str = "the file has changed since it was read: run again") -> FileChanged:
    return FileChanged(errno.EBUSY, reason)


@dataclass(frozen=True, slots=True)
class _Old:
    """The file that is to be replaced, open: what it held, and whether we have a lease on it."""

    handle: int
    state: _State
    leased: bool

    @property
    def disturbed(self) -> bool:
        """Whether somebody waits to write to it."""
        if sys.platform == "linux" and self.leased:
            return fcntl.fcntl(self.handle, fcntl.F_GETLEASE) != fcntl.F_RDLCK
        return False


def _opened(target: str, expected: bytes, stack: contextlib.ExitStack) -> _Old:
    """Open the file, keep writers away as far as the platform can, and compare what it holds."""
    handle = os.open(target, _READ)
    stack.callback(os.close, handle)
    leased = False
    if sys.platform == "linux":
        try:
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # sent when somebody waits; by default it ends nobody
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            leased = True
        except BlockingIOError:
            raise _changed("another program has the file open for writing: close it there, and run again") from None
        except OSError:  # another user's file, or a file system without leases
            pass
    state = os.fstat(handle).st_ino, expected
    if _state(target) != state:
        raise _changed()
    return _Old(handle, state, leased)


def _create(folder: str, named: str, mode: int) -> tuple[int, bool]:
    """A new file, and whether it is without a name; the umask holds."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
            if os.path.exists(f"/proc/self/fd/{handle}"):
                return handle, True
            os.close(handle)
    return os.open(named, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), False


def _exchanged(named: str, target: str, old: _Old, inside: _State) -> bool:
    """Exchange the new file and the target; False where the platform cannot. Raises FileChanged, and all is as it was.
    Where what comes out is not what should, it goes back; if by then that takes out an edit as well, that was the later
    one, and goes back in its turn. The last to write is in the place in the end, as it would be without us."""
    wanted = old.state
    for number in range(_ROUNDS):
        if not _rename_exchange(named, target):
            return False
        displaced = _state(named)
        if displaced == wanted and number == 0 and not old.disturbed:
            return True
        if displaced == wanted and number > 0:
            break
        inside, wanted = displaced, inside
    raise _changed()


def _rename_exchange(one: str, other: str) -> bool:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(-100, os.fsencode(one), -100, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) == 0:  # AT_FDCWD
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise _changed() if number == errno.ENOENT else OSError(number, os.strerror(number), other)


def _state(path: str) -> _State:
    """Inode and content; what is no regular file has none."""
    inode = os.lstat(path).st_ino
    try:
        handle = os.open(path, _READ)
    except OSError as error:
        if error.errno != errno.ELOOP:  # a symbolic link
            raise
        return inode, b""
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        return status.st_ino, file.read() if stat.S_ISREG(status.st_mode) else b""


def _keep_attributes(target: str, new: int) -> None:
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode)
    try:
        mine = os.fstat(new)
        if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(new, old.st_uid, old.st_gid)
    except PermissionError:
        mode &= 0o1777
    os.fchmod(new, mode)
    if sys.platform == "linux":
        for name in os.listxattr(target):
            with contextlib.suppress(OSError):  # some are for the system to set
                os.setxattr(new, name, os.getxattr(target, name))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
