"""The server as a process: it ends with its editor, and takes nothing from the folder that is open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from lsp_editor import Editor

ROOT = Path(__file__).resolve().parents[3]
GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


def test_nothing_is_imported_from_the_folder_that_is_open(tmp_path: Path) -> None:
    for name in ("lsprotocol", "pygls", "libcst", "multiprocessing", "torch"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w').close()\nraise SystemExit('imported')\n")
    (tmp_path / "gate.py").write_text(GATE)
    editor = Editor(tmp_path)
    editor.open(tmp_path / "gate.py")
    assert [d.code for d in editor.wait(tmp_path / "gate.py", lambda d: bool(d))] == ["ONX101"]
    assert editor.end() == 0
    assert not (tmp_path / "imported").exists()


def test_the_server_ends_when_the_editor_is_gone(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "onnxlint", "server"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = server.communicate(b"", timeout=30)
    assert (out, err) == (b"", b"")
    assert server.returncode == 0


def test_the_exit_code_tells_whether_the_editor_said_goodbye(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    assert editor.quit() == 1


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    os.kill(editor.pid, signal.SIGINT)
    assert editor.left() == -signal.SIGINT


def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ImportError\n")
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'pygls' else find(name, *a)\n"
        "from onnxlint.cli import main\nmain(['server'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'onnxlint[server]'" in done.stderr
    assert "Traceback" not in done.stderr
