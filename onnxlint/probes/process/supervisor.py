"""The process between the fork server and that of a probe: adopts what the model starts, and ends it all.

It belongs to one probe, so whatever descends from it comes from that probe's model. It goes on when the fork server is
killed, and ends with the process that runs the pool. It tells through the status pipe: its own process id and that of
the probe; at the end the wait status, whether the model had set a filter for system calls, how many processes were
left, how many of those could not be ended, and how much shared memory, how many semaphores and queues were.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
from typing import Any, NoReturn

from onnxlint.base.lifetimes import adopt_orphans
from onnxlint.probes.process import child, ipc, orphan_processes, process_changes, wire

_TICK = 200  # milliseconds between two looks, where nothing wakes us up


def supervise(request: dict[str, Any], channel: int, status: int, errors: int, trace: int) -> NoReturn:
    """Fork the process of a probe, wait for its end, and end what it has left; `request` is that of `isolate`."""
    try:
        adopt_orphans()
        scratch = request["scratch"]
        os.mkdir(scratch, 0o700)
        try:
            pool = _open_process(request["pool"])
            supervisor_id = os.getpid()
            pid = os.fork()
            if pid == 0:
                for fd in (status, *(() if pool is None else (pool,))):
                    os.close(fd)
                child.main(supervisor_id, channel, errors, trace)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # the pool decides
            for fd in (channel, errors, trace):
                os.close(fd)
            tell(status, os.getpid(), pid)
            ended, filtered, gone = _wait(pid, request["pool"], pool, status)
            left, others, stuck = orphan_processes.end_descendants()
            objects = ipc.remove_left(gone | others, scratch)
        finally:
            remove(scratch)
        tell(status, ended, filtered, left, stuck, objects)
    except OSError as error:  # no process, or no folder
        os.write(errors, f"{error}\n".encode())
    finally:
        os._exit(0)


def tell(status: int, *numbers: int) -> None:
    """Write numbers to a status pipe, all at once."""
    with contextlib.suppress(BrokenPipeError):  # the pool has lost interest
        wire.write_all(status, b"".join(map(wire.NUMBER.pack, numbers)))


def remove(folder: str) -> None:
    """Remove a folder of a model's with all that is in it, also where the model has taken our permissions away."""

    def retry(function: Any, path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            for place in (os.path.dirname(path), path):
                if place.startswith(folder) and not os.path.islink(place):
                    os.chmod(place, 0o700)
            for parent, inner, _ in os.walk(path):
                for place in (os.path.join(parent, name) for name in inner):
                    if not os.path.islink(place):
                        os.chmod(place, 0o700)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    if os.path.isdir(folder):
        try:
            shutil.rmtree(folder, onerror=retry)
        except RecursionError:  # folders a thousand deep
            subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)
    elif os.path.lexists(folder):  # the model has put something else in its place
        with contextlib.suppress(OSError):
            os.unlink(folder)


def _wait(pid: int, pool_id: int, pool: int | None, status: int) -> tuple[int, bool, set[int]]:
    """Wait for the end of a probe, or end it; return its wait status, whether it set a filter, and who ended here."""
    import psutil  # here, because it comes with the `dynamic` extra

    gone = {pid}
    poll = select.poll()
    poll.register(status, 0)  # an error: nobody reads
    for fd in (pool, _open_process(pid)):
        if fd is not None:
            poll.register(fd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll(_TICK)}
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            filtered = process_changes.filters(pid) != process_changes.filters(os.getpid())  # past its end nobody knows
            return os.waitpid(pid, 0)[1], filtered, gone
        if status in ready or pool in ready or not psutil.pid_exists(pool_id):
            return 0, False, gone | orphan_processes.end_descendants()[1]
        gone |= orphan_processes.reap((pid,))


def _open_process(pid: int) -> int | None:
    """A descriptor that can be read when a process has ended; None where the system has none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None
