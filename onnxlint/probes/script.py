"""Runs a user's own program as Python itself would, and takes a snapshot for every export in it. Imports no torch."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnxlint.probes import wire
from onnxlint.probes.capture import CALL, FILES
from onnxlint.probes.deaths import by_signal
from onnxlint.probes.frozen import Snapshot
from onnxlint.probes.isolate import ServerFailedError

_HOOK = str(Path(__file__).parent / "hook")
_TICK = 0.1  # seconds between two looks at whether the program has ended


@dataclass(slots=True)
class Ran:
    """A program that has ended: `status` as subprocess has it, its exports in order, its files, what went wrong.

    `interrupted`: Ctrl-C ended it. One that caught that and ended by itself is a program like any other.
    """

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

    Ctrl-C is for the program, as without us; the second one ends it where it does not end by itself.
    """
    ours, theirs = socket.socketpair()
    before = os.environ.get("PYTHONPATH", "")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in (_HOOK, before) if part),
        "ONNXLINT_PYTHONPATH": before,
        "ONNXLINT_CHANNEL": str(theirs.fileno()),
    }
    ran = Ran()
    with ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, *arguments], stdout=stdout, env=environment, pass_fds=(theirs.fileno(),)
            )
        interrupted = False
        while True:
            try:
                _listen(process, ours, ran)
                break
            except KeyboardInterrupt:
                if interrupted:
                    process.kill()
                interrupted = True
        ran.status = process.wait()
    ran.interrupted = interrupted and ran.status in (-signal.SIGINT, 128 + signal.SIGINT, -signal.SIGKILL)
    return ran


def _listen(process: subprocess.Popen[bytes], channel: socket.socket, ran: Ran) -> None:
    """Take what the program sends until it has ended; what it leaves running may keep the channel open."""
    while True:
        ended = process.poll() is not None
        ready, _, _ = select.select([channel], [], [], 0 if ended else _TICK)
        if ready:
            kind, fds, _, _ = socket.recv_fds(channel, 1, 1)
            if not kind:
                process.wait()
                return
            _take(kind, fds, channel, ran)
        elif ended:
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
            ran.files = [str(path) for path in message["files"]]
        else:
            ran.faults.append(f"a call of {message['call']} could not be captured: {message['fault']}")
