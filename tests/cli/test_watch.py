"""`check --watch`, as a real process that is waited for, changed under, and interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from onnxlint.cli import main, watch
from onnxlint.config.settings import load_settings
from onnxlint.run.scopes import Scope
from onnxlint.source.discover import Discovery

ROOT = Path(__file__).resolve().parents[2]

GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
CLEAN = GATE.replace("        if x.sum() > 0:\n            return x * 2\n", "")


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    Path("gate.py").write_text(GATE)


class Watching:
    """A real `onnxlint check --watch`, and what it has written so far."""

    def __init__(self, *arguments: str) -> None:
        self.out = Path("out.txt")
        self.err = Path("err.txt")
        command = [sys.executable, "-m", "onnxlint", "check", "--watch", "--static-only", "--output-format", "concise"]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [*command, *arguments],
                stdout=out,
                stderr=err,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                start_new_session=True,
            )

    def until(self, holds: Callable[[str], bool]) -> str:
        """Wait until what was written fulfils a condition; the limit is there for a run that hangs."""
        for _ in range(1200):
            text = self.out.read_text()
            if holds(text):
                return text
            assert self.process.poll() is None, self.err.read_text()
            time.sleep(0.05)
        raise AssertionError(f"waited for a minute:\n{self.out.read_text()}\n{self.err.read_text()}")

    def runs(self) -> int:
        return self.err.read_text().count("watching for changes")


@pytest.fixture
def watching() -> Iterator[Watching]:
    pytest.importorskip("watchfiles")
    made = Watching("gate.py")
    made.until(lambda _: made.runs() == 1)
    yield made
    if made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.wait()


def test_a_change_while_the_first_check_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("watchfiles")
    checked: list[str] = []

    def check(argv: Sequence[str]) -> None:
        checked.append(Path("gate.py").read_text())
        if len(checked) > 1:
            raise KeyboardInterrupt
        Path("gate.py").write_text(CLEAN)

    monkeypatch.setattr(watch, "_check", check)
    scope = Scope(load_settings(Path.cwd())[0], Discovery((Path("gate.py").resolve(),)))
    assert watch.watch_and_check([], [scope], stdin=False) == 0
    assert checked == [GATE, CLEAN]


class TestWatch:
    def test_it_checks_again_when_a_file_changes_whatever_is_in_it(self, watching: Watching) -> None:
        assert "gate.py:6:12: ONX101" in watching.out.read_text()
        Path("gate.py").write_text("import torch\ndef f(:\n")
        watching.until(lambda text: "gate.py:2:1: error: the file does not parse" in text)
        Path("gate.py").write_text(CLEAN)
        watching.until(lambda text: "Nothing found in 1 file" in text)
        Path("onnxlint.toml").write_text("opset = 1\n")
        watching.until(lambda text: "onnxlint.toml:1:1: error: opset" in text)
        assert watching.process.poll() is None

    def test_what_is_no_source_is_not_waited_for(self, watching: Watching) -> None:
        Path("notes.txt").write_text("x")
        Path(".onnxlint").mkdir()
        Path(".onnxlint/repro.py").write_text(GATE)
        Path("gate.py").write_text(CLEAN)
        watching.until(lambda text: "Nothing found in 1 file" in text)
        watching.until(lambda _: watching.runs() == 2)

    def test_an_interrupt_ends_it_without_a_word(self, watching: Watching) -> None:
        before = watching.err.read_text()
        os.killpg(watching.process.pid, signal.SIGINT)
        assert watching.process.wait(60) == 0
        assert watching.err.read_text() == before


def test_without_watchfiles_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    done = CliRunner().invoke(main, ["check", "--watch", "--static-only"])
    assert done.exit_code == 2
    assert "pip install 'onnxlint[watch]'" in done.stderr


@pytest.mark.parametrize("flag", ["--fix", "--diff", "--add-noqa", "--write-baseline", "--prune-baseline"])
def test_what_writes_is_not_watched(flag: str) -> None:
    done = CliRunner().invoke(main, ["check", "--watch", "--baseline", "b.json", flag])
    assert done.exit_code == 2
    assert done.stderr.count("Error:") == 1
    assert not Path("b.json").exists()
