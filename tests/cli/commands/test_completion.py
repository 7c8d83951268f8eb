"""Completion in the real shells: what Tab offers after the script of `onnxlint completion` has been read."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A PATH on which the command `onnxlint` is this tree, and a home of its own."""
    folder = tmp_path_factory.mktemp("shell")
    program = folder / "bin" / "onnxlint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m onnxlint "$@"\n')
    program.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell):
            (folder / f"completion.{shell}").write_bytes(
                subprocess.run([program, "completion", shell], check=True, capture_output=True, timeout=60).stdout
            )
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell}")


def in_bash(line: str, environment: dict[str, str]) -> list[str]:
    words = line.split(" ")
    script = (
        'source "$HOME/completion.bash"\n'
        "complete -p onnxlint >&2\n"
        f"COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}\n"
        '_onnxlint_completion onnxlint\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "_onnxlint_completion" in done.stderr
    return done.stdout.split()


def in_fish(line: str, environment: dict[str, str]) -> list[str]:
    script = f"source $HOME/completion.fish; complete --do-complete '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [row.partition("\t")[0] for row in done.stdout.splitlines()]


def in_zsh(line: str, environment: dict[str, str], until: str) -> str:
    """What an interactive zsh shows when Tab is pressed twice; completion works in no other."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "TERM": "xterm", "COLUMNS": "150"})
    try:
        setup = 'autoload -U compinit; compinit -u -D; source "$HOME/completion.zsh"; PS1=; echo rea""dy\n'
        os.write(terminal, setup.encode())
        seen = _read(terminal, "ready", 30)
        os.write(terminal, f"{line}\t\t".encode())
        seen = _read(terminal, until, 30)
    finally:
        os.close(terminal)
        os.kill(child, 9)
        os.waitpid(child, 0)
    return seen


def _read(terminal: int, until: str, seconds: float) -> str:
    seen = b""
    ends = time.monotonic() + seconds
    while until.encode() not in seen and time.monotonic() < ends:
        if select.select([terminal], [], [], 0.2)[0]:
            with contextlib.suppress(OSError):
                seen += os.read(terminal, 65536)
    return seen.decode(errors="replace")


LINES = [
    ("onnxlint expl", {"explain"}),
    ("onnxlint explain ONX10", {f"ONX10{n}" for n in range(1, 10)}),
    ("onnxlint explain tensor-br", {"tensor-branch"}),
    ("onnxlint check --select ONX90", {"ONX901"}),
    ("onnxlint check --ignore ONX101,literal-b", {"ONX101,literal-batch"}),
    ("onnxlint check --outp", {"--output-format", "--output-file"}),
    ("onnxlint check --output-format con", {"concise"}),
]


@pytest.mark.parametrize(("line", "offered"), LINES)
@needs("bash")
def test_bash_completes(environment: dict[str, str], line: str, offered: set[str]) -> None:
    assert set(in_bash(line, environment)) == offered


@pytest.mark.parametrize(("line", "offered"), LINES)
@needs("fish")
def test_fish_completes(environment: dict[str, str], line: str, offered: set[str]) -> None:
    assert set(in_fish(line, environment)) == offered


@needs("zsh")
def test_zsh_completes(environment: dict[str, str]) -> None:
    shown = in_zsh("onnxlint explain ONX10", environment, "ONX109")
    assert all(f"ONX10{n}" in shown for n in range(1, 10))
    assert "Python branch on a tensor value" in shown
    assert "literal-batch" in in_zsh("onnxlint check --ignore ONX101,literal-b", environment, "literal-batch")
