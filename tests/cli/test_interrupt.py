"""Ctrl-C, SIGTERM and SIGHUP in the middle of the probes: a report of what is known, and nothing that goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

MODELS = """\
import time

import torch
from torch import nn


class Quick(nn.Module):
    def forward(self, x):
        return x * 2


class Slow(nn.Module):
    def forward(self, x):
        time.sleep(1e6)


def inputs():
    return (torch.ones(2, 3),)
"""
CONFIG = '[[models]]\nfactory = "models:{}"\ninputs = "models:inputs"\ndynamic = {{ x = {{ 0 = "batch" }} }}\n'


EARLY = """\
import runpy, sys


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            raise KeyboardInterrupt


sys.meta_path.insert(0, Pressed())
sys.argv = ["onnxlint", "check", "--static-only", "."]
runpy.run_module("onnxlint", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["onnxlint.cli", "onnxlint.cli.commands.check", "onnxlint.flow.analysis"])
def test_at_any_moment_it_ends_the_command_in_one_line(module: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    program = EARLY.replace("MODULE", module)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "onnxlint: interrupted\n")


def test_while_flags_are_read_it_is_one_line_too(tmp_path: Path) -> None:
    program = (
        "import sys, click\nfrom onnxlint.__main__ import run\n\n\ndef pressed(*_):\n    raise KeyboardInterrupt\n\n\n"
        "click.Group.parse_args = pressed\nsys.argv = ['onnxlint', 'rules']\nrun()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "onnxlint: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_the_last_word_it_ends_the_process_without_another(number: int) -> None:
    program = (
        f"import atexit, runpy, signal, sys\natexit.register(lambda: signal.raise_signal({number:d}))\n"
        "sys.argv = ['onnxlint', 'rules']\nrunpy.run_module('onnxlint', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-number, "")
    assert "ONX101" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_is_known_is_reported_and_kept_and_the_rest_is_named(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "onnxlint.toml").write_text("".join(CONFIG.format(name) for name in ("Quick", "Slow", "Slow.__call__")))
    cache = tmp_path / "cache"
    command = [sys.executable, "-m", "onnxlint", "check", "--output-format", "json", "--jobs", "1"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "ONNXLINT_CACHE_DIR": str(cache), "TMPDIR": str(temporary)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True)
    try:
        while not list(cache.glob("*/probes/*/*")):  # the first model is done
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        started = psutil.Process(process.pid).children(recursive=True)
        for _ in range(2 if number == signal.SIGTERM else 1):  # `timeout` sends it twice
            process.send_signal(number)
        said, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number, errors
    models = {model["name"]: model for model in json.loads(said)["models"]}
    assert {cell["outcome"] for cell in models["models:Quick"]["exporters"].values()} == {"ok"}
    slow = models["models:Slow"]
    said_of_it = [slow["reason"]] if slow["reason"] else [cell["detail"] for cell in slow["exporters"].values()]
    assert said_of_it, slow  # before it was built the model says so, later each exporter
    assert all("the run was interrupted" in sentence for sentence in said_of_it), slow
    assert models["models:Slow.__call__"]["reason"] == "the run was interrupted before its turn"
    assert errors.splitlines() == ["onnxlint: interrupted; the report says what was known by then"]
    assert not psutil.wait_procs(started, timeout=10)[1]
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(("ignored", "sent"), [("INT", signal.SIGTERM), ("HUP", signal.SIGTERM), ("INT HUP", None)])
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(
    ignored: str, sent: signal.Signals | None, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("import torch\n" * 5)
    command = [sys.executable, "-m", "onnxlint", "check", "--static-only", "--no-cache", "-"]
    shell = f"trap '' {ignored}; exec \"$@\""
    process = subprocess.Popen(
        ["sh", "-c", shell, "sh", *command], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(lambda: signal.SIGTERM in caught(process.pid))
    for name in ignored.split():
        process.send_signal(getattr(signal, f"SIG{name}"))
    if sent is not None:
        process.send_signal(sent)
        assert process.communicate()[1] == "onnxlint: interrupted\n"
        assert process.returncode == 128 + sent
    else:
        _, errors = process.communicate("import torch\n")
        assert process.returncode == 0, errors


def test_the_exit_code_holds_where_the_signal_came_while_a_dataclass_was_made(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys\nfrom onnxlint.base.interrupts import exit_code\n"
        "try:\n    exec('raise KeyboardInterrupt')\nexcept KeyboardInterrupt:\n    sys.exit(exit_code())\n"
    )
    assert subprocess.run([sys.executable, "-m", "program"], cwd=tmp_path, check=False).returncode == 130


def caught(pid: int) -> set[int]:
    """The signals that a process has handlers for."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt")]
    return {n for n in range(1, 65) if int(line.split()[1], 16) >> (n - 1) & 1}


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.02)
