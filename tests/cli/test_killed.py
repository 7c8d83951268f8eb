"""A run that a signal ends at any moment: no process of it goes on, and no file of it stays."""

from __future__ import annotations

import getpass
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
RUN = "ONNXLINT_TEST_RUN"  # in the environment of every process of a run: a number, which its daemons sleep
LAYER = """\
import torch
from torch import nn


class Gate{n}(nn.Module):
    def forward(self, x):
        if x.sum() > {n}:
            return x * 2
        return torch.relu(x)
"""
MODELS = f"""\
import os
import time

import torch
from torch import nn


class Daemon(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve("/bin/sleep", ["sleep", os.environ["{RUN}"]], {{}})
            os._exit(0)
        with open(os.path.join(os.environ["TMPDIR"], "scratch"), "w") as file:
            file.write("x")
        time.sleep(0.1)
        return x * 2


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


def inputs():
    return (torch.ones(2, 3),)
"""
CONFIG = '[[models]]\nfactory = "models:{}"\ninputs = "models:inputs"\n'


class Run:
    """A check in a project of its own, with folders of its own for temporary files and the cache."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.mark = str(uuid.uuid4().int % 10**9 + 10**8)
        self.project, self.temporary, self.cache = (folder / name for name in ("project", "temporary", "cache"))
        for place in (self.project, self.temporary):
            place.mkdir()
        for n in range(40):
            (self.project / f"gate{n}.py").write_text(LAYER.format(n=n))
        (self.project / "models.py").write_text(MODELS)
        (self.project / "onnxlint.toml").write_text("".join(CONFIG.format(name) for name in ("Daemon", "Branch")))
        self.report = folder / "report"
        self.report.mkdir()
        self.before = self.tree()
        self.of_the_user: set[str] = set()  # temporary files that stay
        out = self.report / "report.json"
        self.command = [sys.executable, "-m", "onnxlint", "check", "--output-format", "json", "--output-file", str(out)]
        self.command += ["--jobs", "2", *flags]
        self.environment = {
            **os.environ,
            RUN: self.mark,
            "TMPDIR": str(self.temporary),
            "ONNXLINT_CACHE_DIR": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command,
            cwd=self.project,
            env=self.environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(RUN) == self.mark or self.mark in process.cmdline()
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def tree(self) -> set[str]:
        """What is in the project, without the counterexamples that are complete."""
        kept = self.project / ".onnxlint"
        return {
            str(path.relative_to(self.project))
            for path in self.project.rglob("*")
            if path != kept and kept not in path.parents
        }

    def check_gone(self, pids: set[int]) -> None:
        """Nothing is left. What has been killed may take a moment; the test's own limit of time is the only clock."""
        until(lambda: not self.processes())
        until(lambda: not [path for path in self.temporary.iterdir() if path.name not in self.of_the_user])
        assert self.tree() == self.before
        assert [path.name for path in self.report.iterdir()] in ([], ["report.json"])
        shared = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
        assert not [name for name in shared if any(f"_{pid}_" in name for pid in pids)]
        for report in self.report.iterdir():
            json.loads(report.read_text())  # it is whole


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.05)


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for temporary files in which a socket has room: its path may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="t") as name:
        yield Path(name)


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    run = Run(tmp_path, *getattr(request, "param", ()))
    yield run
    for process in run.processes():
        process.kill()


def end(process: subprocess.Popen[str], run: Run, number: int, everyone: bool) -> tuple[str, set[int]]:
    """Send a signal to a run, or to its group as `timeout` and a terminal do, and wait for its end."""
    pids = {p.pid for p in run.processes()}
    if everyone:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    return errors, pids


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("run", [("--static-only", "--no-cache")], indirect=True, ids=["static"])
def test_during_discovery_the_static_pass_and_the_report(seed: int, run: Run) -> None:
    chance = random.Random(seed)
    began = time.monotonic()
    process = run.start()
    process.communicate()
    run.check_gone(set())
    lasts = time.monotonic() - began
    for path in run.report.iterdir():
        path.unlink()
    process = run.start()
    time.sleep(chance.uniform(0.1, 1) * lasts)
    errors, pids = end(process, run, SIGNALS[seed % 3], chance.random() < 0.5)
    run.check_gone(pids)
    assert "Traceback" not in errors
    assert process.returncode in (1, -SIGNALS[seed % 3], 128 + SIGNALS[seed % 3]), errors


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_during_the_probes_and_what_they_write(seed: int, run: Run) -> None:
    chance = random.Random(seed)
    process = run.start()
    if seed >= 4:  # else while the server is warming up
        until(lambda: process.poll() is not None or list(run.temporary.glob("onnxlint-*")))
    time.sleep(chance.uniform(0, 4))
    errors, pids = end(process, run, SIGNALS[seed % 3], chance.random() < 0.5)
    run.check_gone(pids)
    assert "Traceback" not in errors
    assert process.returncode in (1, -SIGNALS[seed % 3], 128 + SIGNALS[seed % 3]), errors


HANGING = """\
import os
import pathlib
import sys
import time

import torch
from torch import nn

READY = pathlib.Path(__file__).parent.parent / "ready"


class Hanging(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                READY.touch()
                os.execve("/bin/sleep", ["sleep", "31415926"], {})
            os._exit(0)
        time.sleep(1e6)


def inputs():
    return (torch.ones(2, 3),)
"""
EXPORTS = """\
import io
import pathlib
import time

import torch

torch.onnx.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),), io.BytesIO(), dynamo=False)
(pathlib.Path(__file__).parent.parent / "ready").touch()
time.sleep(1e6)
"""
CHECKS = """\
from hanging import Hanging
import torch
from onnxlint.api import check_model

check_model(Hanging(), (torch.ones(2, 3),))
"""
HANGING_CONFIG = '[[models]]\nfactory = "hanging:Hanging"\ninputs = "hanging:inputs"\ntimeout = 600\n'
COMMANDS = {
    "check": ["-m", "onnxlint", "check"],
    "watch": ["-m", "onnxlint", "check", "--watch"],
    "run": ["-m", "onnxlint", "run", "exports.py"],
    "api": ["-P", "checks.py"],
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_its_processes_along(name: str, number: signal.Signals, run: Run) -> None:
    for file, text in (("hanging", HANGING), ("exports", EXPORTS), ("checks", CHECKS)):
        (run.project / f"{file}.py").write_text(text)
    (run.project / "onnxlint.toml").write_text(HANGING_CONFIG)
    run.before = run.tree()
    run.command = [sys.executable, *COMMANDS[name]]
    if name == "api":
        run.environment["PYTHONPATH"] = str(run.project)
        run.of_the_user = {
            f"torchinductor_{getpass.getuser()}",
            ".ses",
        }  # torch and ONNX Runtime make them in the user's own process
    process = run.start()
    until(lambda: process.poll() is not None or (run.project.parent / "ready").exists())
    assert process.poll() is None, process.communicate()
    errors, pids = end(process, run, number, everyone=False)
    run.check_gone(pids)
    assert "Traceback" not in errors
    how = {"watch": 0, "api": -number}.get(name, 128 + number)
    assert process.returncode == (-number if number == signal.SIGKILL else how), errors


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_of_an_editor_takes_its_processes_along(number: signal.Signals, run: Run, short: Path) -> None:
    run.temporary = short
    run.environment["TMPDIR"] = str(short)
    run.command = [sys.executable, "-m", "onnxlint", "server"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(run.command, cwd=run.project, env=run.environment, stdin=pipe, stdout=pipe, stderr=pipe)
    until(lambda: process.poll() is not None or list(run.temporary.rglob("listener-*")))
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    run.check_gone(set())
    assert (process.returncode, errors) == (-number, b"")


IGNORES = """\
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
INHERITS = """\
import subprocess
def test():
    told = subprocess.check_output(["grep", "SigIgn", "/proc/self/status"], text=True)
    assert not int(told.split()[1], 16) & (1 << 0 | 1 << 1 | 1 << 14), told
"""


def test_tests_that_are_started_with_signals_ignored_start_processes_that_heed_them(tmp_path: Path) -> None:
    (tmp_path / "test_inherited.py").write_text(INHERITS)
    pytest_of_ours = ["-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", IGNORES, *pytest_of_ours, "-c", os.devnull, "test_inherited.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
