"""The process that forks one child for every probe: what it forks, and that nothing of it stays when it ends."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("psutil")

from onnxlint.probes.process import forkserver, wire

# The probe is a stand-in that runs what comes through its channel; nothing is warm.
SERVER = """
import os, socket, sys, time
from onnxlint.probes.process import child
from onnxlint.probes.process.forkserver import Forking

def probe(supervisor, channel, errors, trace):
    try:
        exec(os.read(channel, 1000).decode(), {**globals(), "channel": channel})
    finally:
        os._exit(0)

child.main = probe
Forking(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]) or None).run()
"""
# The server with all but its warming up, which takes forever or no time.
MAIN = """
import sys, time
from onnxlint.probes.process import forkserver, warm
warm.warm_up = lambda: print(flush=True) or time.sleep({seconds})
forkserver.main()
"""


class Server:
    """A running server, and the pool's end of its socket."""

    def __init__(self, code: str = SERVER, pool: int = 0) -> None:
        self.control, theirs = socket.socketpair()
        self.opened = contextlib.ExitStack()
        self.opened.enter_context(self.control)
        with theirs:
            number = str(theirs.fileno())
            words = [number, str(pool)] if code == SERVER else [number, "", str(pool)]
            command = [sys.executable, "-c", code, *words]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE)
            assert self.process.stdout is not None
            self.said = self.opened.enter_context(self.process.stdout)

    def ask(self, deed: str, scratch: Path) -> tuple[int, int, io.FileIO, socket.socket]:
        """Have a probe forked that does this: the ids of its supervisor and its own; status pipe and channel."""
        (status_read, status_written), (ours, channel) = os.pipe(), socket.socketpair()
        status = self.opened.enter_context(io.FileIO(status_read))
        self.opened.enter_context(ours)
        null = os.open(os.devnull, os.O_RDWR)
        request = wire.pack({"pool": os.getpid(), "scratch": str(scratch)})
        with channel:
            socket.send_fds(self.control, [request], [channel.fileno(), status_written, null, null])
        os.close(status_written)
        os.close(null)
        ours.sendall(deed.encode())
        supervisor, probe = wire.NUMBER.iter_unpack(status.read(2 * wire.NUMBER.size))
        return supervisor[0], probe[0], status, ours


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.opened.close()
    server.process.wait(timeout=60)


def runs(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that has to happen; the test's own time limit is the only clock."""
    while not condition():
        time.sleep(0.02)


def test_every_request_gets_a_supervisor_and_a_probe_that_talk_through_its_descriptors(
    server: Server, tmp_path: Path
) -> None:
    told = []
    for number in range(2):
        deed = f"os.write(channel, b'{number} %d' % os.getppid()); os._exit({number})"
        supervisor, probe, status, channel = server.ask(deed, tmp_path / str(number))
        assert channel.recv(100).decode() == f"{number} {supervisor}"
        ended = [numbers[0] for numbers in wire.NUMBER.iter_unpack(status.read())]
        assert ended == [number << 8, 0, 0, 0, 0]
        told += [supervisor, probe]
    assert len({*told, server.process.pid}) == 5
    assert server.process.poll() is None
    assert list(tmp_path.iterdir()) == []


def test_what_is_forked_cannot_talk_in_the_server_s_place(server: Server, tmp_path: Path) -> None:
    deed = (
        "links = {n: os.path.realpath(f'/proc/self/fd/{n}') for n in range(100)}\n"
        "sockets = [n == channel for n, link in links.items() if 'socket:' in link]\n"
        "os.write(channel, repr(sockets).encode())"
    )
    assert server.ask(deed, tmp_path / "scratch")[3].recv(100) == b"[True]"


def test_with_the_pool_s_end_of_the_socket_all_that_was_forked_ends(server: Server, tmp_path: Path) -> None:
    forked = [server.ask("time.sleep(600)", tmp_path / name)[:2] for name in ("a", "b")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    server.control.close()
    assert server.process.wait(timeout=60) == 0
    until(lambda: not any(runs(pid) for pids in forked for pid in pids))
    assert list(tmp_path.iterdir()) == []


def test_the_probe_of_a_supervisor_that_is_killed_ends_and_the_others_go_on(server: Server, tmp_path: Path) -> None:
    killed, orphan, _, _ = server.ask("time.sleep(600)", tmp_path / "killed")
    _, other, _, channel = server.ask("os.read(channel, 1); os.write(channel, b'here')", tmp_path / "other")
    os.kill(killed, signal.SIGKILL)
    until(lambda: not runs(orphan) and not (tmp_path / "killed").exists())
    assert runs(other)
    channel.sendall(b"\n")
    assert channel.recv(100) == b"here"


def test_what_is_no_request_ends_the_server() -> None:
    server = Server()
    with server.opened:
        server.control.sendall(wire.HEADER.pack(2) + b"[]")
        assert server.process.wait(timeout=60) == 0


def test_a_server_whose_parent_is_not_the_pool_any_more_ends() -> None:
    server = Server(pool=1 << 30)
    with server.opened:
        assert server.process.wait(timeout=60) == 0


@pytest.mark.parametrize("seconds", [600, 0], ids=["while it warms up", "when it is warm"])
def test_the_server_ends_as_soon_as_the_pool_is_gone(seconds: int) -> None:
    server = Server(MAIN.format(seconds=seconds), os.getpid())
    with server.opened:
        server.said.readline()
        assert server.process.poll() is None
        server.control.close()
        assert server.process.wait(timeout=60) == 0


def test_there_are_as_many_descriptors_in_a_request_as_a_supervisor_takes() -> None:
    code = forkserver.supervisor.supervise.__code__
    assert code.co_argcount - 1 == forkserver.DESCRIPTORS
