"""The process that has torch and both exporters warm, and forks one child for every probe.

Each request on its socket to the pool is a message with four descriptors: the probe's channel, its status pipe, its
standard error and the file for its traceback. What is forked is the probe's supervisor, which forks the probe. When the
pool goes away, so do the server and every process that a probe started.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
from types import FrameType

from onnxlint.base.lifetimes import adopt_orphans
from onnxlint.probes.process import orphan_processes, supervisor, wire

DESCRIPTORS = 4
_TICK = 500  # milliseconds between two looks at whether the pool's process is there


def main() -> None:
    """Warm up, then fork per request, until the pool (third argument) ends or closes its end of the socket (first)."""
    control, pool = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[3])
    _leave_with(control, pool)
    from onnxlint.probes.process import warm

    warm.warm_up()
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect()
    gc.freeze()  # the collector of a child must not touch, and so copy, what it shares with us
    Forking(control, pool).run()
    os._exit(0)


def _leave_with(control: socket.socket, pool: int) -> None:
    """End this process as soon as the pool is gone, also in the middle of warming up."""
    hangup = select.poll()
    hangup.register(control, select.POLLHUP)

    def look(_signum: int, _frame: FrameType | None) -> None:
        if os.getppid() != pool or any(event & select.POLLHUP for _, event in hangup.poll(0)):
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.25, 0.25)


class Forking:
    """The loop of the fork server: requests come in, supervisors are forked and taken note of when they end."""

    def __init__(self, control: socket.socket, pool: int | None = None) -> None:
        self.control = control
        self.pool = pool
        self.running: dict[int, str] = {}  # process id of a supervisor → temporary folder of its probe
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)

    def run(self) -> None:
        """Fork this process for each request, until the other end of `control` is closed, or `pool` has ended."""
        importlib.import_module("psutil")  # once, for all supervisors
        adopt_orphans()  # of supervisors that are killed
        signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)  # a handler, so that the wake-up pipe is written
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake_read, select.POLLIN)
        while self.pool is None or os.getppid() == self.pool:
            ready = {fd for fd, _ in poll.poll(_TICK)}
            if self.wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 4096)
                self._reap()
            if self.control.fileno() in ready and not self._accept():
                break
        orphan_processes.end_descendants()
        for folder in self.running.values():
            supervisor.remove(folder)

    def _accept(self) -> bool:
        """Take one request and fork for it; False when the pool has closed its end."""
        try:
            head, fds, _, _ = socket.recv_fds(self.control, wire.HEADER.size, DESCRIPTORS)
            request = wire.read_message(self.control.fileno(), head)
        except (OSError, wire.WireError):  # the pool ended, maybe while it asked
            return False
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (self.control.detach(), self.wake_read, self.wake_write):
                os.close(fd)
            supervisor.supervise(request, *fds)
        for fd in fds:
            os.close(fd)
        self.running[pid] = request["scratch"]
        return True

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, ended = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                folder = self.running.pop(pid, None)
                if folder is not None and ended != 0:  # it was killed, most likely by what it supervised
                    orphan_processes.end_descendants(self.running)
                    supervisor.remove(folder)
