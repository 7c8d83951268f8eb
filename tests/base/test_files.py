"""The one reader of the checked tree: regular files alone, up to a size, and nothing is waited for."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from onnxlint.base.files import NotAFile, TooLong, read_bytes, read_text


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "two words größe.py"
    for data in (b"", b"\xff\x00\r\n", b"x" * 100_000):
        path.write_bytes(data)
        assert read_bytes(path, 100_000) == data
        assert read_bytes(str(path), 100_000) == data


def test_a_file_that_is_too_long_is_told_with_both_sizes(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_bytes(b"x" * 2_500_000)
    with pytest.raises(TooLong) as caught:
        read_bytes(path, 1_000_000)
    assert caught.value.strerror == "it is 2.5 MB long, the limit is 1 MB"


def test_what_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        for path, told in (
            (tmp_path, "a folder"),
            (tmp_path / "pipe", "a named pipe"),
            (tmp_path / "s", "a socket"),
            (Path("/dev/zero"), "a device"),
        ):
            with pytest.raises(NotAFile) as caught:
                read_bytes(path, 1000)
            assert caught.value.strerror == f"it is no file but {told}"


def test_a_file_without_a_length_is_none() -> None:
    with pytest.raises(NotAFile, match="no file with a length"):
        read_bytes("/proc/self/status", 1_000_000)


def test_a_link_is_followed_unless_it_must_not_be(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(b"x = 1")
    (tmp_path / "link.py").symlink_to("m.py")
    (tmp_path / "round.py").symlink_to("round.py")
    assert read_bytes(tmp_path / "link.py", 100) == b"x = 1"
    with pytest.raises(NotAFile, match="it is no file but a symbolic link"):
        read_bytes(tmp_path / "link.py", 100, follow=False)
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(tmp_path / "round.py", 100)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "gone.py", 100)


def test_a_file_that_grows_meanwhile_is_whole_or_too_long(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"x" * 10)
    ended = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not ended.is_set():
                file.write(b"x" * 10)
                file.flush()

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        while True:
            try:
                assert set(read_bytes(path, 50_000)) == {ord("x")}
            except TooLong:
                break
    finally:
        ended.set()
        thread.join()


def test_a_text_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(b"gr\xff")
    assert read_text(tmp_path / "one.txt", 100) == "gr\ufffd"
    assert read_text(tmp_path / "one.txt", 2) == read_text(tmp_path, 100) == read_text(tmp_path / "none", 100) == ""
