"""The process that has torch and both exporters warm, and forks one child for every probe.

It is started by `pool.ForkServer` as `python -c`, with one socket to the pool. Each request is a single message with
four descriptors: the probe's channel, its status pipe, its standard error and the file for its traceback. The status
pipe gets two numbers: the child's process id when it starts, and its wait status when it has ended.
When the pool goes away, so do the server and every process that a probe started.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from types import FrameType

from onnxlint.probes import child, strays, wire

DESCRIPTORS = 4


def serve(control_fd: int) -> None:
    """Warm up, then fork a child per request until the pool closes its end of `control_fd`."""
    control = socket.socket(fileno=control_fd)
    _leave_with(control)
    from onnxlint.probes import warm

    warm.warm_up()
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect()
    gc.freeze()  # the collector of a child must not touch, and so copy, what it shares with us
    serve_forks(control)
    os._exit(0)


def serve_forks(control: socket.socket) -> None:
    """Fork a child of this process as it is for each request, until the other end of `control` is closed."""
    _Server(control).run()


def _leave_with(control: socket.socket) -> None:
    """End this process as soon as the pool is gone, also in the middle of warming up."""
    hangup = select.poll()
    hangup.register(control, select.POLLHUP)

    def look(_signum: int, _frame: FrameType | None) -> None:
        if any(event & select.POLLHUP for _, event in hangup.poll(0)):
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.25, 0.25)


class _Server:
    """The loop of the fork server: requests come in, wait statuses go out."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.running: dict[int, int] = {}  # process id → status pipe
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)  # a handler, so that the wake-up pipe is written
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake_read, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self.wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 4096)
                self._reap()
            if self.control.fileno() in ready and not self._accept():
                self._end_all()
                return

    def _accept(self) -> bool:
        """Take one request and fork for it; False when the pool has closed its end."""
        data, fds, _, _ = socket.recv_fds(self.control, 1, DESCRIPTORS)
        if not data:
            return False
        channel, status, errors, trace = fds
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (self.control.detach(), self.wake_read, self.wake_write, status, *self.running.values()):
                os.close(fd)
            child.main(server, channel, errors, trace)
        for fd in (channel, errors, trace):
            os.close(fd)
        self.running[pid] = status
        self._tell(status, pid)
        return True

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            _kill_group(pid)  # before it is reaped: until then nobody else can have its number
            _, wait_status = os.waitpid(pid, 0)
            status = self.running.pop(pid)
            self._tell(status, wait_status)
            os.close(status)
            if not self.running:
                strays.end(os.environ[strays.MARK])

    def _tell(self, status: int, number: int) -> None:
        with contextlib.suppress(BrokenPipeError):  # the pool has lost interest
            wire.write_all(status, wire.NUMBER.pack(number))

    def _end_all(self) -> None:
        for pid in self.running:
            _kill_group(pid)
        strays.end(os.environ[strays.MARK])


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # a child that was not yet the leader of its group


def main() -> None:
    """Serve the socket whose number is the only argument."""
    serve(int(sys.argv[1]))
