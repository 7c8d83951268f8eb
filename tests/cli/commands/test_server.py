"""`onnxlint server`: it speaks the Language Server Protocol on standard input and output, and imports nothing there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def message(**content: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def serve(folder: Path, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "onnxlint", "server", "--stdio"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, timeout=60, check=False
    )


def test_it_answers_an_editor_and_ends_with_it(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    start = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
    done = serve(
        tmp_path,
        message(id=1, method="initialize", params=start) + message(id=2, method="shutdown") + message(method="exit"),
    )
    assert done.returncode == 0, done.stderr
    assert b'"capabilities"' in done.stdout
    assert b"onnxlint" in done.stdout


def test_what_lies_in_the_folder_of_the_editor_is_not_imported(tmp_path: Path) -> None:
    """`python -m` has the working directory on the path, and an opened project may hold a file of any name."""
    pytest.importorskip("pygls")
    for name in ("pygls", "lsprotocol", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the project was imported')\n")
    done = serve(tmp_path, message(id=1, method="shutdown") + message(method="exit"))
    assert b"the project was imported" not in done.stdout + done.stderr
