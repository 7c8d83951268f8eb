"""A process frozen at a call that has a live model: forked from the caller, it forks one child for every probe.

It sees the model as it is at the call, copyable or not; the caller notices nothing, as probes change forks alone. It is
forked twice, so that the caller has no child to wait for, and ends when the other side of its socket is closed.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from onnxlint.probes.process import forkserver, wire

# What the processes of all probes have in theirs.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "PYTHONHASHSEED": "0",
    "ORT_DISABLE_TELEMETRY": "1",  # it sends what is run to its makers, from a thread that would not survive a fork
    "TOKENIZERS_PARALLELISM": "false",  # its threads would not survive a fork
    "CUDA_VISIBLE_DEVICES": "",  # both sides of every comparison are computed on the CPU
    "PYTHONDONTWRITEBYTECODE": "1",  # a check leaves no `__pycache__` among the user's files
}

inside = False  # whether this process is a snapshot or a probe of one: nothing is captured in it


def take(describe: Callable[[], dict[str, Any]], close: Sequence[int] = ()) -> socket.socket:
    """Freeze this process; return the socket on which the snapshot first sends what `describe` says there.

    `describe` runs in the snapshot and keeps what its probes take; the descriptors `close` are not for it.
    Raises OSError where there is no process to be had.
    """
    ours, theirs = socket.socketpair()
    # From 3.12 on Python tells the user of every fork that threads of torch do not survive it.
    warns = sys.hexversion >= 0x030C0000
    quiet = warnings.catch_warnings(action="ignore", category=DeprecationWarning) if warns else contextlib.nullcontext()
    with theirs, quiet:
        try:
            between = os.fork()
        except OSError:
            ours.close()
            raise
        if between == 0:
            _leave(theirs, (ours.detach(), *close), describe)
        with contextlib.suppress(ChildProcessError):  # the caller ignores SIGCHLD: the system has waited for it
            os.waitpid(between, 0)
    return ours


def _leave(theirs: socket.socket, close: Sequence[int], describe: Callable[[], dict[str, Any]]) -> NoReturn:
    """Fork once more, and never return into the caller's code: not its handlers, nor its buffers, nor its exit."""
    try:
        if os.fork() == 0:
            for number in close:
                os.close(number)
            _serve(theirs, describe)
    finally:
        os._exit(0)


def _serve(control: socket.socket, describe: Callable[[], dict[str, Any]]) -> None:
    """Tell of the call, then fork until the other side has gone; returns where there is nothing to fork."""
    global inside
    inside = True
    os.setsid()  # Ctrl-C is for the caller
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # a pipe that the caller writes to must end with the caller
        os.dup2(null, number)
    os.close(null)
    sys.settrace(None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.environ.update(ENVIRONMENT)
    try:
        description = describe()
    except Exception as error:  # noqa: BLE001 - the other side tells the user, who sees nothing of this process
        wire.write_all(control.fileno(), wire.pack({"fault": f"{type(error).__name__}: {error}"}))
        return
    wire.write_all(control.fileno(), wire.pack(description))
    gc.freeze()  # the collector of a child must not touch, and so copy, what it shares with us
    forkserver.Forking(control).run()
