"""What runs in the forked child of one probe: cut loose from the terminal, watched, then `run_probe`."""

import contextlib
import ctypes
import faulthandler
import fcntl
import linecache
import os
import pkgutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, NoReturn

from onnxlint.base.lifetimes import end_with, prctl
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import from_json, to_json
from onnxlint.probes.common import stages
from onnxlint.probes.process import ipc, wire, witness
from onnxlint.probes.process.process_changes import Process

Runner = Callable[[Probe, Callable[[ProbeResult], None]], ProbeResult]

CHANNEL_LOST = 97  # exit status: the model closed the descriptor that results go through
TRACE_SIGNAL = signal.SIGUSR1  # the pool sends it to learn which line a process hangs in
_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS, linux/prctl.h
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # system calls of Landlock, the same on every machine
_SCOPE_SIGNALS = 1 << 1  # LANDLOCK_SCOPE_SIGNAL, linux/landlock.h; from Linux 6.12 on
_LEAVE, _getpid, _fstat = os._exit, os.getpid, os.fstat  # as they are before a model replaces them
_HIGH = 700  # our own descriptors live above what a careless `closerange(3, 256)` hits


def main(supervisor: int, channel_fd: int, errors_fd: int, trace_fd: int) -> NoReturn:
    """Run the probe that is read from `channel_fd` and leave; never returns into the code of `supervisor`."""
    status = 1
    try:
        end_with(supervisor)
        _spare_others()
        status = _run(channel_fd, errors_fd, trace_fd)
    finally:
        _LEAVE(status)  # no atexit, no waiting for threads: the result has been sent


def _run(channel_fd: int, errors_fd: int, trace_fd: int) -> int:
    os.setsid()
    _redirect(errors_fd)
    trace = _move_up(trace_fd)
    faulthandler.enable(file=trace, all_threads=True)
    faulthandler.register(TRACE_SIGNAL, file=trace, all_threads=True)
    request = wire.read_message(channel_fd)
    channel = Channel(_move_up(channel_fd), Process())
    _trace_exit(trace)
    _settle(request)
    probe = from_json(Probe, request["probe"])
    sys.path[:0] = [p for p in probe.search_path if p not in sys.path]
    install_overlay(probe.overlay)
    os.chdir(probe.root)
    stages.listen(lambda name: channel.send({"stage": name, "altered": channel.process.altered()}))
    stages.stage(stages.BUILD)
    runner: Runner = pkgutil.resolve_name(request["runner"])
    seen = witness.Witness(probe, request["scratch"], os.getppid())
    seen.listen()
    ipc.note_made(request["scratch"])
    try:
        result = runner(probe, lambda partial: channel.send({"result": to_json(seen.tell(partial))}))
    except SystemExit as error:
        channel.raised(error, "exit")
    except BaseException as error:  # noqa: BLE001 - recorded with its cause; the pool makes a result of it
        channel.raised(error, "error")
    else:
        channel.send({"result": to_json(seen.tell(result, ended=True))})
        channel.send({"done": True, "left": seen.left})
    return 0


def _spare_others() -> None:
    """Have this process, and all that it starts, send signals to no others, where the system can see to that."""
    if sys.platform != "linux":
        return
    prctl(_NO_NEW_PRIVILEGES, 1)  # Landlock wants it
    library = ctypes.CDLL(None, use_errno=True)
    rules = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_SIGNALS)  # struct landlock_ruleset_attr
    fd = library.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), 0)
    if fd >= 0:  # not so: an older system, or one without Landlock
        library.syscall(_RESTRICT_SELF, fd, 0)
        os.close(fd)


class Channel:
    """Sends stages and results to the pool, from the probe's own process only."""

    def __init__(self, fd: int, process: Process) -> None:
        self._fd = fd
        self.process = process
        self._pid = _getpid()
        self._identity = _identity(fd)

    def raised(self, error: BaseException, kind: str) -> None:
        """Tell that `run_probe` itself did not return: `kind` is `exit` for SystemExit, else `error`."""
        codes = ((frame.f_code, line or 0) for frame, line in traceback.walk_tb(error.__traceback__))
        frames = [[code.co_filename, line, code.co_name] for code, line in codes]
        try:
            text = repr(error.code) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
        except BaseException as fault:  # noqa: BLE001 - the error is the model's own, and cannot say what it is
            text = f"an error that cannot be shown ({type(fault).__name__})"
        try:
            altered = self.process.altered(functions=True)
        except BaseException:  # noqa: BLE001 - nothing of Python itself can be relied on any more
            altered = ["replaced functions that every process needs"]
        report = {"kind": kind, "text": text.removesuffix(": ")[:2000], "frames": frames[::-1][:100]}
        self.send({"raised": report, "altered": altered})

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; ends the process where the channel is gone or is not ours (a fork of the model)."""
        if _getpid() != self._pid:
            _LEAVE(0)
        if _identity(self._fd) != self._identity:
            _LEAVE(CHANNEL_LOST)
        try:
            wire.write_all(self._fd, wire.pack(message))
        except OSError:
            _LEAVE(CHANNEL_LOST)


def install_overlay(overlay: Mapping[str, str]) -> None:
    """Have Python import these files from here. `overlay` maps resolved paths to bytes, written as latin-1 text."""
    if not overlay:
        return
    data = {path: text.encode("latin-1") for path, text in overlay.items()}
    native = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        source = data.get(os.path.realpath(self.path))
        return native(self, fullname) if source is None else self.source_to_code(source, self.path)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]  # all imports of source come here
    for path, source in data.items():
        linecache.cache[path] = (len(source), None, source.decode("utf-8", "replace").splitlines(keepends=True), path)


def _identity(fd: int) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        status = _fstat(fd)
        return status.st_dev, status.st_ino
    return None


def _move_up(fd: int) -> int:
    with contextlib.suppress(OSError):  # the limit of open files is lower: stay where we are
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        os.close(fd)
        return high
    os.set_inheritable(fd, False)
    return fd


def _redirect(errors_fd: int) -> None:
    """Standard input and output become the null device; standard error goes to the pool, which keeps its end."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(errors_fd, 2)
    os.close(null)
    os.close(errors_fd)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - lives as long as the process
    sys.stdout = open(1, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


def _trace_exit(trace: int) -> None:
    """Have `os._exit` write down where it was called, so that the user's line can be named."""
    owner = os.getpid()

    def leave(status: int) -> NoReturn:
        if os.getpid() == owner:
            with contextlib.suppress(OSError):
                faulthandler.dump_traceback(trace, all_threads=False)
        _LEAVE(status)

    os._exit = leave


def _settle(request: dict[str, Any]) -> None:
    """Make this process a fresh one: signals, temporary directory, who dies first when memory runs out."""
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.environ["TMPDIR"] = request["scratch"]
    tempfile.tempdir = None
    sys.argv = ["onnxlint"]
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
