"""Processes that analyse: they answer, and end when nobody waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from lsp_editor import Editor

from onnxlint.integrations.server.editor_analysis import Job
from onnxlint.integrations.server.processes import Analyser

ROOT = Path(__file__).resolve().parents[3]
GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


def test_an_analysis_that_nobody_waits_for_ends() -> None:
    async def superseded(folder: Path) -> list[int]:
        analyser = Analyser()
        await analyser.run(Job(str(folder)))  # so that the next one begins at once
        task = asyncio.ensure_future(analyser.run(Job(str(folder))))
        while not multiprocessing.active_children():
            await asyncio.sleep(0.01)
        running = [process.pid or 0 for process in multiprocessing.active_children()]
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        while any(process.pid in running for process in multiprocessing.active_children()):
            await asyncio.sleep(0.01)
        return running

    assert asyncio.run(superseded(ROOT / "fixtures" / "projects"))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_an_analysis_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    body = GATE.partition("\n\n\n")[2]
    text = "import torch\n\n\n" + "\n\n".join(body.replace("Gate", f"Gate{number}") for number in range(4000))
    (tmp_path / "gates.py").write_text(text)  # which takes much longer than this test may
    editor = Editor(tmp_path)
    editor.open(tmp_path / "gates.py")
    while not (started := [pid for child in _children(editor.pid) for pid in _children(child)]):
        time.sleep(0.01)
    os.kill(editor.pid, signal.SIGKILL)
    assert editor.left() == -signal.SIGKILL
    while any(_runs(pid) for pid in started):  # the test's own limit of time is the only clock
        time.sleep(0.01)


def _stat(pid: int) -> list[str]:
    """State and parent of a process; nothing of one that is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    return ["", ""]


def _children(pid: int) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in pids if _stat(one)[1] == str(pid)]


def _runs(pid: int) -> bool:
    return _stat(pid)[0] not in ("", "Z")
