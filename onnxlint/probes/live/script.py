"""Runs a user's own program as Python itself would, and takes a snapshot for every export in it. Imports no torch."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

from onnxlint.base import interrupts
from onnxlint.base.lifetimes import end_with, temporary_folder
from onnxlint.probes.live.capture import CALL, FILES, PATH, variables
from onnxlint.probes.live.snapshot_client import Snapshot
from onnxlint.probes.process import wire
from onnxlint.probes.process.isolate import ServerFailedError
from onnxlint.probes.process.process_ends import by_signal

_BACKLOG = 128
_LONGEST = 70  # characters of the folder for temporary files; an address has about a hundred
_TICK = 0.1  # seconds between two looks at whether the program has ended
_GRACE = 1.0  # seconds that a program has to end by a signal that it got as well


@dataclass(slots=True)
class Ran:
    """A program that has ended: `status` as subprocess has it, exports in order; whether Ctrl-C `interrupted` it."""

    status: int = 0
    snapshots: list[Snapshot] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def ending(self) -> str | None:
        """How the program failed, None if it did not."""
        if self.status < 0:
            return by_signal(-self.status).removeprefix("the process ")
        return f"ended with exit status {self.status}" if self.status else None


def run_program(arguments: Sequence[str], stdout: int | None = None) -> Ran:
    """Run `python ARGUMENTS` to its end; its standard streams are ours, except that `stdout` replaces the output.

    Ctrl-C is for the program, as without us; the second one ends it where it does not end by itself. Where no keyboard
    can have sent it, it may be for us alone, and is passed on. SIGTERM and SIGHUP end us, and soon the program.
    """
    ran = Ran()
    with contextlib.ExitStack() as opened:
        parent = "/tmp" if len(tempfile.gettempdir()) > _LONGEST else None
        address = os.path.join(opened.enter_context(temporary_folder(parent=parent)), "calls")
        listener = opened.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen(_BACKLOG)
        waiting = opened.enter_context(selectors.DefaultSelector())
        waiting.register(listener, selectors.EVENT_READ)
        environment = {**os.environ, **variables(address, os.getcwd(), os.environ.get(PATH, ""))}
        bind = partial(end_with, os.getpid())
        process = subprocess.Popen([sys.executable, *arguments], stdout=stdout, env=environment, preexec_fn=bind)
        interrupted = _Interrupts(process)
        opened.enter_context(interrupts.handled_by(interrupted.hear))
        _listen(interrupted, listener, waiting, ran)
        ran.status = process.wait()
        for key in list(waiting.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # they are all sockets
    ours = interrupts.received() != signal.SIGINT  # whatever the program made of it
    by_interrupt = ran.status in (-signal.SIGINT, 128 + signal.SIGINT, -signal.SIGKILL)
    ran.interrupted = bool(interrupted.seen) and (ours or by_interrupt)
    return ran


@dataclass(slots=True)
class _Interrupts:
    """Every Ctrl-C, which the program gets as well, so that nothing that it sends is lost; the third is ours."""

    process: subprocess.Popen[bytes]
    seen: list[float] = field(default_factory=list)
    passed_on: bool = False

    def hear(self, number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:
            if not interrupts.note(number):
                return
            self.process.send_signal(number)
        self.seen.append(time.monotonic())
        if len(self.seen) > 1:
            self.process.kill()
        if len(self.seen) > 2:
            raise KeyboardInterrupt

    def pass_on(self) -> None:
        """Pass an interrupt on, once, that may be for us alone: a keyboard sends it to both, a process need not."""
        if not self.seen or self.passed_on or time.monotonic() - self.seen[0] < _GRACE:
            return
        self.passed_on = True
        if interrupts.received() != signal.SIGINT:
            self.process.kill()
        elif not _at_keyboard() and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)


def _at_keyboard() -> bool:
    """Whether Ctrl-C on a terminal reaches this process, and so the program too."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


def _listen(interrupted: _Interrupts, listener: socket.socket, waiting: selectors.BaseSelector, ran: Ran) -> None:
    """Take what the program and the processes that it starts send, until it has ended; those may go on without us."""
    while True:
        interrupted.pass_on()
        ended = interrupted.process.poll() is not None
        ready = waiting.select(0 if ended else _TICK)
        for key, _ in ready:
            channel = key.fileobj
            assert isinstance(channel, socket.socket)
            if channel is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            try:
                kind, fds, _, _ = socket.recv_fds(channel, 1, 1)
            except ConnectionError:
                kind, fds = b"", []
            if kind:
                _take(kind, fds, channel, ran)
            else:
                waiting.unregister(channel)
                channel.close()
        if ended and not ready:
            return


def _take(kind: bytes, fds: list[int], channel: socket.socket, ran: Ran) -> None:
    if kind == CALL:
        try:
            ran.snapshots.append(Snapshot(socket.socket(fileno=fds[0])))
        except ServerFailedError as error:
            ran.faults.append(str(error))
        return
    for fd in fds:
        os.close(fd)
    with contextlib.suppress(wire.WireError, OSError):  # it was killed while it wrote
        message = wire.read_message(channel.fileno())
        if kind == FILES:
            ran.files += [str(path) for path in message["files"]]
        else:
            ran.faults.append(f"a call of {message['call']} could not be captured: {message['fault']}")
