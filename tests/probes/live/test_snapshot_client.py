"""The other side of a snapshot: what it says of its call, and the probes that are made of several calls."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import Any

import pytest
from probing import unknown

from onnxlint.base.records import ModelStatus, to_json
from onnxlint.probes.live.snapshot_client import Capture, Captured, Snapshot
from onnxlint.probes.process import wire
from onnxlint.probes.process.isolate import ServerFailedError

CALL = Capture("nets:Net", "ex.py", 4, ("torchscript", "dynamo"))
LIKE = replace(unknown("Net"), opset=18, timeout=7.0)


def heard(message: dict[str, Any] | bytes) -> tuple[Snapshot, socket.socket]:
    """A snapshot that has said this, and the frozen process's end of its socket."""
    ours, theirs = socket.socketpair()
    theirs.sendall(message if isinstance(message, bytes) else wire.pack(message))
    return Snapshot(ours), theirs


def captured(*calls: Capture) -> Captured:
    return Captured([heard(to_json(call))[0] for call in calls])


def test_a_snapshot_knows_its_call_and_passes_requests_and_descriptors_on() -> None:
    call = replace(CALL, sizes={"batch": (2, 3)}, texts={"<cell>": "x = 1\n"}, number="7.0")
    snapshot, theirs = heard(to_json(call))
    assert snapshot.capture == call
    read, write = os.pipe()
    snapshot.fork(b"request", [write])
    os.close(write)
    data, (passed,), _, _ = socket.recv_fds(theirs, 100, 1)
    os.write(passed, b"through")
    assert (data, os.read(read, 100)) == (b"request", b"through")
    os.close(passed)
    os.close(read)
    snapshot.close()
    assert theirs.recv(1) == b"", "which ends the frozen process"
    theirs.close()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (wire.pack({"fault": "ValueError: no such dim"}), "no such dim"),
        (wire.pack({"name": 3}), "could not be captured"),
        (wire.pack(to_json(CALL))[:-1], "ended in the middle"),
    ],
    ids=["a fault", "what is no call", "half of it"],
)
def test_what_is_not_a_call_is_a_server_that_failed(message: bytes, reason: str) -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(message)
    theirs.close()
    with pytest.raises(ServerFailedError, match=reason):
        Snapshot(ours)
    assert ours.fileno() == -1


def test_a_frozen_process_that_has_ended_forks_nothing() -> None:
    snapshot, theirs = heard(to_json(CALL))
    theirs.close()
    with pytest.raises(ServerFailedError, match="frozen at the call has ended"):
        snapshot.fork(wire.pack({}), [])
    snapshot.close()


def test_probes_are_of_the_call_with_the_limits_of_the_settings() -> None:
    calls = captured(replace(CALL, opset=20, sizes={"n": (2,)}), replace(CALL, name="nets:Other"))
    (first, second), refused = calls.probes(LIKE)
    assert (first.name, first.path, first.line, first.source) == ("nets:Net", "ex.py", 4, "captured")
    assert (first.opset, second.opset, first.sizes, first.timeout) == (20, 18, {"n": (2,)}, 7.0)
    assert [calls.servers[str(probe.live)] for probe in (first, second)] == calls.snapshots
    assert refused == ()
    assert first.asked_for


def test_a_call_that_is_not_about_an_exporter_that_is_asked_for_has_no_probe() -> None:
    calls = captured(replace(CALL, exporters=("torchscript",)), CALL)
    (probe,), _ = calls.probes(replace(LIKE, exporters=("dynamo",)))
    assert (probe.live, probe.exporters) == ("1", ("dynamo",))


def test_calls_of_one_class_are_told_apart_by_their_lines_and_numbers() -> None:
    other = replace(CALL, name="nets:Other")
    probes, _ = captured(CALL, CALL, replace(CALL, path="a/b.py", line=9), other).probes(LIKE)
    assert [probe.name for probe in probes] == [
        *("nets:Net (ex.py:4)", "nets:Net (ex.py:4) #2", "nets:Net (b.py:9)", "nets:Other")
    ]


def test_a_call_that_goes_on_with_an_earlier_one_takes_its_place_unless_it_cannot_be_probed() -> None:
    first, second = replace(CALL, number="1.0"), replace(CALL, line=5, number="1.1", replaces="1.0")
    (probe,), refused = captured(first, second).probes(LIKE)
    assert (probe.line, probe.live, refused) == (5, "1", ())
    probes, (report,) = captured(first, replace(second, reason="it is not on the CPU")).probes(LIKE)
    assert [probe.line for probe in probes] == [4]
    assert (report.status, report.reason, report.line) == (ModelStatus.NOT_PROBED, "it is not on the CPU", 5)
