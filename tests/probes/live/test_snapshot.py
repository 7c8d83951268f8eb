"""A process frozen at a call: what it keeps, what it cuts itself loose from, and that the caller notices nothing."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
from probing import unknown

from onnxlint.base.records import to_json
from onnxlint.probes.live import snapshot
from onnxlint.probes.live.snapshot_client import Capture, Snapshot
from onnxlint.probes.process import wire
from onnxlint.probes.process.isolate import run_isolated


@contextmanager
def frozen(describe: Callable[[], dict[str, Any]], close: Sequence[int] = ()) -> Iterator[socket.socket]:
    control = snapshot.take(describe, close)
    try:
        yield control
    finally:
        control.close()


def said(describe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a snapshot says of itself."""
    with frozen(describe) as control:
        return wire.read_message(control.fileno())


def runs(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_it_sees_the_process_as_it_is_at_the_call_and_is_no_child_of_the_caller() -> None:
    weights = [1]
    with frozen(lambda: {"weights": weights, "pid": os.getpid()}) as control:
        weights.append(2)
        told = wire.read_message(control.fileno())
        assert told["weights"] == [1]
        assert told["pid"] not in {os.getpid(), *(child.pid for child in psutil.Process().children())}
        assert runs(told["pid"]), "it goes on until nobody wants it any more"
    while runs(told["pid"]):
        time.sleep(0.02)
    assert not snapshot.inside


def test_it_is_cut_loose_from_the_terminal_the_signals_and_the_environment_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def describe() -> dict[str, Any]:
        return {
            "session": os.getsid(0),
            "streams": [os.readlink(f"/proc/self/fd/{number}") for number in range(3)],
            "handler": signal.getsignal(signal.SIGTERM),
            "blocked": list(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            "environment": dict(os.environ),
            "inside": snapshot.inside,
        }

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("MINE", "kept")
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        told = said(describe)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    assert told["session"] != os.getsid(0)
    assert told["streams"] == [os.devnull] * 3
    assert (told["handler"], told["blocked"], told["inside"]) == (signal.SIG_DFL, [], True)
    assert snapshot.ENVIRONMENT.items() <= told["environment"].items()
    assert told["environment"]["MINE"] == "kept"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_descriptors_that_are_not_for_it_are_closed_in_it() -> None:
    read, write = os.pipe()
    with frozen(lambda: {"left": os.path.exists(f"/proc/self/fd/{write}")}, (write,)) as control:
        assert wire.read_message(control.fileno()) == {"left": False}
        os.close(write)
        assert os.read(read, 1) == b"", "nobody else holds the other end"
    os.close(read)


def test_an_error_in_what_describes_the_call_is_told_and_ends_it() -> None:
    with frozen(lambda: {"x": [][0]}) as control:
        told = wire.read_message(control.fileno())
        assert told == {"fault": "IndexError: list index out of range"}
        assert control.recv(1) == b""


def test_a_caller_that_does_not_wait_for_its_children_gets_one_as_well() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert said(lambda: {"here": True}) == {"here": True}
    finally:
        signal.signal(signal.SIGCHLD, before)


RUNNER = """\
import os
from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import ModelReport, ModelStatus
VALUES = []

def run_probe(probe, publish):
    VALUES.append("probed")
    words = ",".join(VALUES)
    return ProbeResult(ModelReport(probe.name, "", 0, ModelStatus.PROBED, f"{words} {os.getppid()}"))
"""


@pytest.mark.slow
def test_every_probe_gets_a_process_of_its_own_that_knows_what_the_frozen_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "frozen_runner.py").write_text(RUNNER)
    monkeypatch.syspath_prepend(str(tmp_path))
    import frozen_runner  # type: ignore[import-not-found]

    frozen_runner.VALUES.append("live")
    client = Snapshot(snapshot.take(lambda: to_json(Capture("M", "ex.py", 1, ("dynamo",)))))
    frozen_runner.VALUES.clear()
    probe = replace(unknown("M"), root=str(tmp_path), search_path=(), live="0")
    try:
        words = [
            str(run_isolated(probe, "frozen_runner:run_probe", client, lambda _: None, Event()).report.reason).split()
            for _ in range(2)
        ]
    finally:
        client.close()
    assert [first for first, _ in words] == ["live,probed"] * 2
    assert len({supervisor for _, supervisor in words}) == 2
