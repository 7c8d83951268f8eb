"""The pipes between pool, fork server and probe: what goes in comes out, and nothing else is taken for a message."""

from __future__ import annotations

import os
import threading

import pytest

from onnxlint.probes.process import wire


def test_messages_arrive_whole_however_the_stream_is_cut() -> None:
    messages = [{"stage": "a"}, {"stage": "b" * 1000}, {"done": True}]
    stream = b"".join(wire.pack(m) for m in messages)
    for step in (1, 7, 4096):
        decoder, received = wire.Stream(), []
        for start in range(0, len(stream), step):
            decoder += stream[start : start + step]
            received += decoder.take()
        assert received == messages


@pytest.mark.parametrize(
    "noise",
    [b"\xff" * 8, *(wire.HEADER.pack(len(body)) + body for body in (b"{}}", b"[]", b"[" * 60_000))],
)
def test_what_is_no_message_of_ours_is_refused(noise: bytes) -> None:
    decoder = wire.Stream()
    decoder += noise
    with pytest.raises(wire.WireError):
        list(decoder.take())


def test_a_message_larger_than_a_pipe_comes_out_as_it_went_in() -> None:
    message = {"text": "größe\ud800" * 100_000}
    read, write = os.pipe()
    writer = threading.Thread(target=wire.write_all, args=(write, wire.pack(message)))
    writer.start()
    try:
        assert wire.read_message(read) == message
    finally:
        os.close(read)
        writer.join()
        os.close(write)


def test_one_message_is_read_and_the_next_one_stays_in_the_pipe() -> None:
    read, write = os.pipe()
    wire.write_all(write, wire.pack({"n": 1}) + wire.pack({"n": 2}))
    begun = os.read(read, wire.HEADER.size)
    assert wire.read_message(read, begun) == {"n": 1}
    assert wire.read_message(read) == {"n": 2}
    os.close(write)
    os.close(read)


def test_a_pipe_that_ends_in_a_message_is_an_error() -> None:
    read, write = os.pipe()
    os.write(write, wire.pack({"stage": "exporting"})[:-1])
    os.close(write)
    with pytest.raises(wire.WireError, match="ended in the middle of a message"):
        wire.read_message(read)
    os.close(read)


def test_a_message_is_written_though_the_model_has_replaced_what_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("replaced")

    read, write = os.pipe()
    with monkeypatch.context() as patched:
        patched.setattr("json.JSONEncoder.encode", broken)
        patched.setattr("json.JSONEncoder.iterencode", broken)
        patched.setattr("os.write", broken)
        wire.write_all(write, wire.pack({"done": True, "names": ["a"]}))
    assert wire.read_message(read) == {"done": True, "names": ["a"]}
    os.close(write)
    os.close(read)
