"""A user's program is run as Python itself would, and what it exports or how it ends is known afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from onnxlint.base import interrupts
from onnxlint.probes.live import script
from onnxlint.probes.live.capture import CALL, FILES
from onnxlint.probes.live.script import Ran, run_program
from onnxlint.probes.process import wire


def run(here: Path, code: str, *arguments: str) -> tuple[Ran, str]:
    """The program `code`, run in this process's place, and what it has written."""
    (here / "ex.py").write_text(code)
    with open(here / "said", "w+") as said:
        ran = run_program(["ex.py", *arguments], stdout=said.fileno())
        said.seek(0)
        return ran, said.read()


def test_a_program_is_run_with_its_arguments_where_we_are_and_without_a_trace_of_us(here: Path) -> None:
    code = (
        "import json, os, sys\nimport helper\n"
        "ours = [name for name in os.environ if name.startswith('ONNXLINT_') and name != 'ONNXLINT_CACHE_DIR']\n"
        "print(json.dumps([__name__, sys.argv, sys.path[0], os.getcwd(), ours, os.environ.get('PYTHONPATH')]))\n"
    )
    (here / "helper.py").touch()
    ran, said = run(here, code, "--out", "two words")
    expected = ["__main__", ["ex.py", "--out", "two words"], str(here), str(here), [], os.environ.get("PYTHONPATH")]
    assert json.loads(said) == expected
    assert (ran.status, ran.ending, ran.interrupted, ran.faults, ran.snapshots) == (0, None, False, [], [])
    assert sorted(map(os.path.basename, ran.files)) == ["ex.py", "helper.py"]
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == ["ex.py", "helper.py", "said"]


@pytest.mark.parametrize(
    ("deed", "ending"),
    [
        ("raise SystemExit(7)", "ended with exit status 7"),
        ("import os; os.kill(os.getpid(), 11)", "was killed by SIGSEGV (Segmentation fault)"),
        ("pass", None),
    ],
)
def test_how_a_program_ends_is_told(here: Path, deed: str, ending: str | None) -> None:
    ran, _ = run(here, deed)
    assert ran.ending == ending
    assert not ran.interrupted


def test_a_process_that_goes_on_without_the_program_is_not_waited_for(here: Path) -> None:
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)\n"
    )
    ran, said = run(here, code)
    assert ran.status == 0
    os.kill(int(said), signal.SIGKILL)  # it is still there


def test_a_long_folder_for_temporary_files_is_no_hindrance(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = here / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    ran, _ = run(here, "pass")
    assert [os.path.basename(path) for path in ran.files] == ["ex.py"]


def test_control_c_is_for_the_program_and_the_second_one_ends_it_and_the_third_one_us() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        interrupts_seen = script._Interrupts(process)
        interrupts_seen.hear(signal.SIGINT, None)
        assert process.poll() is None
        interrupts_seen.hear(signal.SIGINT, None)
        assert process.wait(timeout=60) == -signal.SIGKILL
        with pytest.raises(KeyboardInterrupt):
            interrupts_seen.hear(signal.SIGINT, None)


def test_a_signal_that_ends_us_is_passed_on_to_the_program_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_received", signal.SIGINT)
    monkeypatch.setattr(interrupts, "_when", interrupts._when)
    with subprocess.Popen(["sleep", "600"]) as process:
        interrupts_seen = script._Interrupts(process)
        interrupts_seen.hear(signal.SIGTERM, None)
        assert process.wait(timeout=60) == -signal.SIGTERM
        interrupts_seen.hear(signal.SIGTERM, None)
        assert len(interrupts_seen.seen) == 1, "`timeout` sends it twice"
    assert interrupts.received() == signal.SIGTERM


def test_what_was_killed_while_it_told_of_something_costs_nothing_but_that() -> None:
    ran = Ran()
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(wire.pack({"files": ["a.py"]}) + wire.pack({"files": ["b.py"]})[:-1])
        theirs.close()
        script._take(FILES, [], ours, ran)
        script._take(FILES, [], ours, ran)
    assert (ran.files, ran.faults) == (["a.py"], [])
    control, frozen = socket.socketpair()
    frozen.close()
    script._take(CALL, [control.detach()], ours, ran)
    assert ran.snapshots == []
    assert ran.faults == ["the call could not be captured: the pipe ended in the middle of a message"]
