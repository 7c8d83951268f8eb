"""What a model touches beside its tensors: files, variables, sockets, processes. Listens in the probe's own process."""

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import itertools
import os
import signal
import stat
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from onnxlint.base.files import read_bytes
from onnxlint.base.probe_records import Depends, Probe, ProbeResult
from onnxlint.base.records import Diagnostic
from onnxlint.probes.common.userspace import is_installed, is_own, is_user_code, relative
from onnxlint.probes.process import orphan_processes

_WRITES = os.O_WRONLY | os.O_RDWR
_DEVICES = ("/dev/", "/proc/", "/sys/")
_SHARED_MEMORY = "/dev/shm/"
_OURS = {"TMPDIR"}  # set anew for every probe
_PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod")
_METADATA = os.path.dirname(importlib.metadata.__file__)  # what is installed is asked for, and known otherwise
_COMPILER = f"{os.sep}torch{os.sep}_inductor{os.sep}"
_getpid = os.getpid  # as it is before a model replaces it: what raises here, raises in the model
_NAMED = 3  # places that one notice names
STARTS_PROCESSES = "it starts other processes"
_ABSENT = "absent"
_LARGE = 64 * 1024 * 1024  # bytes from which on size and time of change have to do: hashing weights takes seconds


class Witness:
    """Sees what Python code does from `listen` on. What a C extension opens by itself it does not see."""

    def __init__(self, probe: Probe, scratch: str, supervisor: int) -> None:
        """`scratch` is the probe's own folder, and `supervisor` the process that adopts what the model starts."""
        self.left = 0  # processes that still run at the end
        self._probe = probe
        self._supervisor = supervisor
        self._own = (scratch + os.sep, os.path.abspath(probe.repro_dir) + os.sep)
        self._home = os.path.realpath(probe.root) + os.sep
        homes = (os.path.expanduser(os.path.join("~", name)) for name in (".cache", ".config", ".local"))
        self._homes = tuple(os.path.realpath(home) + os.sep for home in homes)  # where a library may keep what it wants
        self._pid = _getpid()
        self._began = time.time_ns()
        self._before = dict(os.environ)
        self._modules = set(sys.modules)
        self._threads = set(threading.enumerate())
        self._begun: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # by code of the user's
        self._read: dict[str, None] = {}
        self._wanted: dict[str, tuple[str, ...]] = {}  # modules that were looked for, and in which folders
        self._missing: dict[str, None] = {}
        self._variables: dict[str, None] = {}
        self._unseen = ""
        self._deeds: dict[str, dict[str, tuple[str, int] | None]] = {}  # by what was done: to what, and at which line
        self._inside = threading.local()
        self._events: dict[str, Callable[[str, Sequence[Any]], None]] = {
            "open": self._open,
            **dict.fromkeys(("os.listdir", "os.scandir"), self._list),
            **dict.fromkeys(("socket.connect", "socket.bind"), self._socket),
            "socket.getaddrinfo": lambda *_: self._doubt_user("it uses the network"),
            **dict.fromkeys(_CHANGES, self._change),
            **dict.fromkeys(_PROCESSES, lambda *_: self._doubt_user(STARTS_PROCESSES)),
            **dict.fromkeys(("os.kill", "os.killpg"), self._signal),
        }

    def listen(self) -> None:
        """Begin. There is no end: an audit hook cannot be taken back, and the process has only this probe."""
        self._watch_environment()
        self._watch_absence()
        self._watch_calls()
        sys.meta_path.insert(0, self)  # a finder that never finds
        sys.addaudithook(self._hear)

    def tell(self, result: ProbeResult, *, ended: bool = False) -> ProbeResult:
        """Return the result with what was seen so far; with what it hangs on, and what still runs, if it has ended."""
        with self._silence():
            if ended:
                self._left_running()
            depends = self._depends() if ended else None
            return replace(result, notices=(*result.notices, *self._notices()), depends=depends)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        """Remember that a module was looked for, and leave finding it to the others."""
        self._wanted.setdefault(name, tuple(sys.path if path is None else path))

    def _hear(self, event: str, args: Sequence[Any]) -> None:
        listener = self._events.get(event)
        if listener is None or self._silent or _getpid() != self._pid:
            return
        with self._silence():
            try:
                listener(event, args)
            except (OSError, ValueError, TypeError) as error:  # a path that is none: the call itself will say so
                self._doubt(f"a call could not be followed ({event}: {error})")

    @property
    def _silent(self) -> bool:
        return getattr(self._inside, "on", False)

    @contextlib.contextmanager
    def _silence(self) -> Iterator[None]:
        self._inside.on = True
        try:
            yield
        finally:
            self._inside.on = False

    def _open(self, _: str, args: Sequence[Any]) -> None:
        path = _path(args[0])
        if path is None:
            return
        if isinstance(args[2], int) and args[2] & _WRITES:
            self._write(path)
        elif is_user_code(path) and not path.endswith(".pyc") and not path.startswith((*self._own, *_DEVICES)):
            self._read.setdefault(path)

    def _list(self, _: str, args: Sequence[Any]) -> None:
        path = _path(args[0])
        if path is not None and not f"{path}/".startswith((*self._own, *_DEVICES)) and _user() is not None:
            self._read.setdefault(path)

    def _change(self, _: str, args: Sequence[Any]) -> None:
        for path in filter(None, map(_path, args[:2])):
            self._write(path)

    def _write(self, path: str) -> None:
        real = os.path.realpath(path)
        device = path.startswith(_DEVICES) and not path.startswith(_SHARED_MEMORY)  # which stays there, like any file
        if device or path.startswith(self._own) or f"{real}/".startswith((self._home, *self._own)):
            return
        frame = None if _compiling() else _user()
        if frame is not None and not (is_installed(frame.f_code.co_filename) and real.startswith(self._homes)):
            self._note("writes outside the working directory", real, frame)

    def _socket(self, event: str, args: Sequence[Any]) -> None:
        frame = _user()
        if frame is not None:
            address = args[1]
            where = ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)
            self._doubt("it uses the network")
            self._note("opens a socket" if event == "socket.bind" else "opens a connection", where, frame)

    def _doubt_user(self, reason: str) -> None:
        if _user() is not None:
            self._doubt(reason)

    def _signal(self, _: str, args: Sequence[Any]) -> None:
        target, number = args
        frame = _user()
        if frame is not None and number and not orphan_processes.descends(target, self._supervisor):
            self._note("signals processes that it did not start", signal.Signals(number).name, frame)

    def _doubt(self, reason: str) -> None:
        self._unseen = self._unseen or reason

    def _note(self, deed: str, target: str, frame: FrameType | None) -> None:
        at = None if frame is None else (relative(frame.f_code.co_filename, self._probe.root), frame.f_lineno)
        self._deeds.setdefault(deed, {}).setdefault(target, at)

    def _notices(self) -> Iterator[Diagnostic]:
        for deed, targets in self._deeds.items():
            named = [target for target in targets if target][:_NAMED]
            more = f" and {len(targets) - len(named)} more" if named and len(targets) > len(named) else ""
            path, line = next((at for at in targets.values() if at is not None), (self._probe.path, self._probe.line))
            what = f": {', '.join(named)}{more}" if named else ""
            yield Diagnostic("warning", f"{self._probe.name} {deed}{what}", path or None, line or None)

    def _left_running(self) -> None:
        threads = [t for t in threading.enumerate() if t not in self._threads]
        codes = [getattr(getattr(t, "_target", None) or type(t).run, "__code__", None) for t in threads]
        if not self._begun.isdisjoint(threads) or any(c is not None and is_user_code(c.co_filename) for c in codes):
            self._note("leaves a thread running", "", None)
        self.left = sum(process.pid != self._pid for process in orphan_processes.descendants(self._supervisor))
        if self.left:
            self._doubt(STARTS_PROCESSES)

    def _watch_environment(self) -> None:
        def getitem(_: Any, name: Any) -> None:
            if isinstance(name, str):
                self._variables.setdefault(name)

        kind = type(os.environ)
        _tell_of(kind, "__getitem__", getitem)  # os.getenv, get and `in` come through here as well
        _tell_of(kind, "__iter__", lambda _: self._doubt_user("it reads all of the environment"))

    def _watch_absence(self) -> None:
        """No audit event tells that somebody asked whether a file is there."""
        native = os.stat

        @functools.wraps(native)
        def asked(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
            try:
                return native(path, *args, **kwargs)
            except FileNotFoundError:
                if not self._silent:
                    with self._silence():
                        name = _path(path)
                        if name is not None and not name.startswith(self._own) and _user() is not None:
                            self._missing.setdefault(name)
                raise

        os.stat = asked

    def _watch_calls(self) -> None:
        """No audit hook sees what native code maps or writes: most pretrained weights, and archives of `torch.save`."""

        def safe_open(filename: Any, *_: Any, **__: Any) -> None:
            path = _path(filename)
            if path is not None:
                self._read.setdefault(path)

        def save(file: Any) -> None:
            path = _path(file) if isinstance(file, (str, os.PathLike)) else None
            if path is not None and not self._silent and _getpid() == self._pid:
                self._write(path)

        def start(thread: threading.Thread) -> None:  # what it runs may be a function of the standard library
            if not self._silent and _user() is not None:
                self._begun.add(thread)

        if importlib.util.find_spec("safetensors") is not None:
            _tell_of(importlib.import_module("safetensors"), "safe_open", safe_open)
        _tell_of(sys.modules["torch.serialization"], "_open_zipfile_writer", save)
        _tell_of(threading.Thread, "start", start)

    def _depends(self) -> Depends:
        files = dict.fromkeys(self._read)
        for name in [name for name in sys.modules if name not in self._modules]:
            path = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(path, str) and is_user_code(path):
                files.setdefault(os.path.abspath(path))
        marked = {path: stamp_of_file(path) for path in files}
        for path in marked:
            if os.path.isfile(path) and os.stat(path).st_mtime_ns >= self._began:
                self._doubt(f"{path} changed in the meantime")
        for path in (*self._missing, *self._untaken()):
            marked.setdefault(path, stamp_of_file(path))
        names = [name for name in self._variables if name not in _OURS]
        return Depends(marked, {n: stamp_of_variable(self._before, n) for n in sorted(names)}, self._unseen)

    def _untaken(self) -> Iterator[str]:
        """Files that do not exist, and that would be imported if they did: in front of a module, or in its place."""
        for name, folders in self._wanted.items():
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None)
            if module is not None and file is None and not hasattr(module, "__path__"):
                continue  # made of no file, whatever there is
            for folder in map(os.path.abspath, folders):
                if not is_user_code(os.path.join(folder, "a.py")) or is_installed(folder):
                    continue
                base = os.path.join(folder, name.rpartition(".")[2])
                candidates = [os.path.join(base, "__init__.py"), f"{base}.py"]
                if file is not None and os.path.abspath(file) in candidates:
                    yield from candidates[: candidates.index(os.path.abspath(file))]
                    break
                yield from candidates


def _stamp(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def stamp_of_variable(environment: Mapping[str, str], name: str) -> str:
    """The stamp of a variable of the environment; its value is not kept."""
    value = environment.get(name)
    return _ABSENT if value is None else _stamp(value.encode("utf-8", "surrogateescape"))


def stamp_of_file(path: str) -> str:
    """The stamp of a file by its bytes, of a folder by the names in it, of what is installed or large by its time."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            names = sorted(n for n in os.listdir(path) if n != "__pycache__" and not n.startswith("."))
            return f"folder:{_stamp(os.fsencode(chr(0).join(names)))}"
        if not stat.S_ISREG(status.st_mode):
            return f"special:{status.st_mode}"
        if status.st_size >= _LARGE or is_installed(path):  # what is installed is replaced, seldom edited
            return f"time:{status.st_size}:{status.st_mtime_ns}"
        return _stamp(read_bytes(path, _LARGE))
    except OSError:
        return _ABSENT


def _tell_of(owner: Any, name: str, listener: Callable[..., None]) -> None:
    """Have a listener called with the arguments of a function before that is called."""
    native = getattr(owner, name)

    @functools.wraps(native, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        listener(*args, **kwargs)
        return native(*args, **kwargs)

    setattr(owner, name, call)


def _path(argument: Any) -> str | None:
    """The absolute path that a call was given; None for a descriptor."""
    if not isinstance(argument, (str, bytes, os.PathLike)):
        return os.path.abspath(".") if argument is None else None
    return os.path.abspath(os.fsdecode(argument))


def _user() -> FrameType | None:
    """The frame of user code that what happens now goes back to; None where it is the import of a module, or ours."""
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        path = frame.f_code.co_filename
        if is_user_code(path):
            return frame
        if path.startswith(("<frozen importlib", _METADATA)) or (is_own(path) and path != __file__):
            return None
    return None


def _compiling() -> bool:
    """Whether torch's compiler does it, which keeps a cache below the temporary folder for whoever captures a graph."""
    paths = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe(1)))
    return any(_COMPILER in path for path in itertools.takewhile(lambda path: not is_user_code(path), paths))
