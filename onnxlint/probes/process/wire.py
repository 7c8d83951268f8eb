"""The format of the pipes between pool, fork server and probe: JSON objects, each behind its length."""

import json
import os
import struct
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct("<I")
NUMBER = struct.Struct("<q")
LIMIT = 64 * 1024 * 1024  # bytes of one message; a result is a few kilobytes

_encoder = json.JSONEncoder(separators=(",", ":"))
vars(_encoder)["iterencode"] = _encoder.iterencode  # as it is before a model replaces it, like these
_encode, _write = _encoder.encode, os.write


class WireError(ValueError):
    """What came through the pipe is not a message of ours."""


def pack(message: dict[str, Any]) -> bytes:
    """Return the bytes of one message."""
    body = _encode(message).encode()
    return HEADER.pack(len(body)) + body


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data` to a blocking descriptor. Raises OSError if the other side is gone."""
    view = memoryview(data)
    while view:
        view = view[_write(fd, view) :]


def read_message(fd: int, begun: bytes = b"") -> dict[str, Any]:
    """Read one message from a blocking descriptor, of which `begun` was read before. Raises WireError."""
    stream = Stream(begun)
    while True:
        for message in stream.take():
            return message
        chunk = os.read(fd, stream.missing)
        if not chunk:
            raise WireError("the pipe ended in the middle of a message")
        stream += chunk


class Stream(bytearray):
    """Bytes that were read, to be cut into messages."""

    @property
    def missing(self) -> int:
        """How many bytes have to come before there is more to know. Raises WireError on a length that is none."""
        length = int(HEADER.unpack_from(self)[0]) if len(self) >= HEADER.size else 0
        if length > LIMIT:
            raise WireError(f"a message of {length} bytes was announced")
        return HEADER.size + length - len(self)

    def take(self) -> Iterator[dict[str, Any]]:
        """Yield every complete message. Raises WireError on what is none of ours."""
        while (missing := self.missing) <= 0:
            end = len(self) + missing
            body = bytes(self[HEADER.size : end])
            del self[:end]
            try:
                message = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise WireError(f"a message is not JSON: {error}") from error
            if not isinstance(message, dict):
                raise WireError("a message is not an object")
            yield message
