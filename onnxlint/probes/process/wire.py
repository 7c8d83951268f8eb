"""The format of the pipes between pool, fork server and probe: JSON objects, each behind its length."""

import json
import os
import struct
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct("<I")
NUMBER = struct.Struct("<q")
_write = os.write  # as it is before a model replaces it
LIMIT = 64 * 1024 * 1024  # bytes of one message; a result is a few kilobytes


class _Encoder(json.JSONEncoder):
    """Encodes with the methods that it had before a model replaced them."""

    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode


_encoder = _Encoder(separators=(",", ":"))


class WireError(ValueError):
    """What came through the pipe is not a message of ours."""


def pack(message: dict[str, Any]) -> bytes:
    """Return the bytes of one message."""
    body = _encoder.encode(message).encode()
    return HEADER.pack(len(body)) + body


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data` to a blocking descriptor. Raises OSError if the other side is gone."""
    view = memoryview(data)
    while view:
        view = view[_write(fd, view) :]


def read_message(fd: int, begun: bytes = b"") -> dict[str, Any]:
    """Read one message from a blocking descriptor, of which `begun` was read before. Raises WireError."""
    decoder = Decoder()
    decoder.feed(begun)
    while True:
        for message in decoder.take():
            return message
        chunk = os.read(fd, decoder.missing)
        if not chunk:
            raise WireError("the pipe ended in the middle of a message")
        decoder.feed(chunk)


class Decoder:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes that were read."""
        self._buffer += data

    @property
    def missing(self) -> int:
        """How many bytes have to come before there is more to know."""
        if len(self._buffer) < HEADER.size:
            return HEADER.size - len(self._buffer)
        return int(HEADER.unpack_from(self._buffer)[0]) + HEADER.size - len(self._buffer)

    def take(self) -> Iterator[dict[str, Any]]:
        """Yield every complete message. Raises WireError on a length or a body that is none of ours."""
        while len(self._buffer) >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer)
            if length > LIMIT:
                raise WireError(f"a message of {length} bytes was announced")
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            try:
                message = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise WireError(f"a message is not JSON: {error}") from error
            if not isinstance(message, dict):
                raise WireError("a message is not an object")
            yield message
