"""Where the codes of findings are links: on terminals that show them, where it is forced, and never in a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = "\x1b]8;"
GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
NAMES = ("CI", "NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK", "TERM_PROGRAM", "VTE_VERSION", "WT_SESSION")
NAMES += ("KONSOLE_VERSION", "DOMTERM")


def command(*flags: str) -> list[str]:
    return [sys.executable, "-m", "onnxlint", "check", "--static-only", "gate.py", *flags]


def environment(told: dict[str, str]) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in NAMES}
    return {**plain, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **told}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "gate.py").write_text(GATE)
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "told", "linked"),
    [
        ([], {}, False),
        (["--color", "always"], {"TERM_PROGRAM": "vscode"}, False),
        (["--color", "always"], {"FORCE_HYPERLINK": "1"}, True),
        (["--color", "never"], {"FORCE_HYPERLINK": "1"}, False),
        (["--color", "always", "--output-format", "json"], {"FORCE_HYPERLINK": "1"}, False),
    ],
)
def test_in_a_pipe(project: Path, flags: list[str], told: dict[str, str], linked: bool) -> None:
    done = subprocess.run(
        command(*flags), cwd=project, env=environment(told), capture_output=True, text=True, timeout=60, check=False
    )
    assert "ONX101" in done.stdout
    assert (LINK in done.stdout) == linked


@pytest.mark.parametrize(
    ("flags", "told", "linked"),
    [
        ([], {"TERM_PROGRAM": "vscode"}, True),
        ([], {"VTE_VERSION": "6800"}, True),
        ([], {"VTE_VERSION": "4800"}, False),
        ([], {"TERM_PROGRAM": "vscode", "CI": "true"}, False),
        ([], {"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        (["--color", "never"], {"TERM_PROGRAM": "vscode"}, False),
        ([], {}, False),
    ],
)
def test_on_a_terminal(project: Path, flags: list[str], told: dict[str, str], linked: bool) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command(*flags), cwd=project, env=environment(told), stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # so a terminal ends on Linux
            while read := os.read(ours, 65536):
                shown += read
        assert process.wait(60) == 1
    finally:
        os.close(ours)
    assert b"ONX101" in shown
    assert (LINK.encode() in shown) == linked
