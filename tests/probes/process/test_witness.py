"""What a model touches beside its tensors is seen, told where it matters to others, and what its result hangs on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from onnxlint.base.probe_records import Depends, ProbeResult
from onnxlint.base.records import from_json
from onnxlint.probes.process.witness import stamp_of_file, stamp_of_variable

# What a model does: a function of a file in the project, called in a process of its own.
DEEDS = {
    "reads": """
        (PROJECT / "width.json").read_text()
        os.listdir(PROJECT / "parts")
        os.path.exists(PROJECT / "bias.json")
        try:
            import faster
        except ImportError:
            import helper
    """,
    "variables": """
        os.environ["WITNESS_SET"] = "by the model"
        os.environ["WITNESS_SET"], os.getenv("WITNESS_UNSET"), os.environ.get("TMPDIR")
    """,
    "all variables": "dict(os.environ)",
    "writes": """
        for name in "abcd":
            (OUTSIDE / name).write_text("x")
    """,
    "removes": '(OUTSIDE / "old").unlink()',
    "saves": 'torch.save({"w": torch.ones(2)}, OUTSIDE / "weights.pt")',
    "writes at home": """
        for folder in (PROJECT, SCRATCH, Path("/dev")):
            (folder / "null").write_text("x")
        (PROJECT / "width.json").read_text()
        lib.keep()
    """,
    "writes where libraries may": 'Path("~/.cache/mine").expanduser().write_text("x")',
    "connects": "socket.socket().connect_ex(('127.0.0.1', 1))",
    "binds": 'socket.socket(socket.AF_UNIX).bind(str(PROJECT / "socket"))',
    "signals": "os.kill(os.getppid(), 0); os.kill(os.getppid(), signal.SIGCONT)",
    "signals its own": """
        own = subprocess.Popen(["sleep", "600"])
        own.kill()
        own.wait()
    """,
    "leaves": """
        subprocess.Popen(["sleep", "600"])
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    """,
    "forks": """
        if os.fork() == 0:
            (OUTSIDE / "forked").write_text("x")
            os._exit(0)
        os.wait()
    """,
    "changes what it reads": '(PROJECT / "state").write_text("1"); (PROJECT / "state").read_text()',
}
HEAD = """\
import os, signal, socket, subprocess, threading, time
from pathlib import Path
import lib, torch
PROJECT, SCRATCH, OUTSIDE = map(Path, {places!r})
def act():
"""
HARNESS = """
import dataclasses, importlib, json, os, sys, torch
from pathlib import Path
from probing import unknown
from onnxlint.base.lifetimes import adopt_orphans
from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import ModelReport, ModelStatus, to_json
from onnxlint.probes.process import orphan_processes
from onnxlint.probes.process.witness import Witness

adopt_orphans()
root, scratch, names = sys.argv[1], sys.argv[2], sys.argv[3:]
probe = dataclasses.replace(unknown("M"), root=root, repro_dir=os.path.join(root, "repro"))
for name in names:
    if os.fork() == 0:
        witness = Witness(probe, scratch, os.getppid())
        witness.listen()
        importlib.import_module(name).act()
        bare = ProbeResult(ModelReport("M", "", 0, ModelStatus.PROBED))
        begun = witness.tell(bare)
        ended = witness.tell(bare, ended=True)
        told = {"begun": to_json(begun), "ended": to_json(ended), "left": witness.left}
        Path(scratch, name).write_text(json.dumps(told))
        os._exit(0)
    os.wait()
    orphan_processes.end_descendants()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has all the others of these tests in it."""
    return tmp_path_factory.mktemp("witness")


@pytest.fixture(scope="module")
def seen(place: Path) -> dict[str, dict[str, Any]]:
    """What was told of each deed."""
    project, scratch, outside = places = [place / name for name in ("project", "scratch", "outside")]
    libraries, home = place / "site-packages", place / "home"
    for folder in (*places, project / "parts", libraries, home / ".cache"):
        folder.mkdir(parents=True)
    (project / "width.json").write_text("3")
    (project / "helper.py").touch()
    (outside / "old").touch()
    (libraries / "lib.py").write_text(
        "from pathlib import Path\ndef keep():\n    Path('~/.cache/library').expanduser().write_text('x')\n"
    )
    names = {name: "does_" + name.replace(" ", "_") for name in DEEDS}
    for name, deed in DEEDS.items():
        body = textwrap.indent(textwrap.dedent(deed).strip(), "    ")
        text = HEAD.format(places=[str(path) for path in places]) + body
        (project / f"{names[name]}.py").write_text(text + "\n")
    for path in project.iterdir():
        os.utime(path, (10**9, 10**9))  # long before the probe
    helpers, repository = Path(__file__).parents[1], Path(__file__).parents[3]
    path = os.pathsep.join(map(str, (project, libraries, helpers, repository)))
    environment = {**os.environ, "PYTHONPATH": path, "HOME": str(home)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "WITNESS_SET": "by the user"}
    command = [sys.executable, "-c", HARNESS, str(project), str(scratch), *names.values()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return {name: json.loads((scratch / module).read_text()) for name, module in names.items()}


def notices(told: dict[str, Any]) -> list[str]:
    return [notice["message"].partition(" ")[2] for notice in told["ended"]["notices"]]


def depends(told: dict[str, Any]) -> Depends:
    found = from_json(ProbeResult, told["ended"]).depends
    assert found is not None
    return found


pytest.importorskip("torch")
slow = pytest.mark.slow


@slow
def test_a_result_hangs_on_what_was_read_and_on_what_was_missing(seen: dict[str, dict[str, Any]], place: Path) -> None:
    project, files = place / "project", depends(seen["reads"]).files
    stamps = {Path(path).relative_to(place).as_posix(): files[path] for path in files if path.startswith(f"{place}/")}
    for name in ("does_reads.py", "width.json", "parts"):
        assert stamps[f"project/{name}"] == stamp_of_file(str(project / name)) != "absent"
    for name in ("bias.json", "faster/__init__.py", "faster.py", "helper/__init__.py"):
        assert stamps[f"project/{name}"] == "absent"
    assert not {"project/does_writes.py", "outside/old"} & stamps.keys()
    assert depends(seen["reads"]).unseen == ""
    assert seen["reads"]["begun"]["depends"] is None, "it may read more"


@slow
def test_variables_count_as_the_user_has_set_them_and_not_the_model(seen: dict[str, dict[str, Any]]) -> None:
    found = depends(seen["variables"]).environment
    assert found["WITNESS_SET"] == stamp_of_variable({"WITNESS_SET": "by the user"}, "WITNESS_SET")
    assert found["WITNESS_UNSET"] == "absent"
    assert "TMPDIR" not in found
    assert depends(seen["variables"]).unseen == ""
    assert depends(seen["all variables"]).unseen == "it reads all of the environment"


@slow
def test_what_is_written_outside_is_told_with_its_line(seen: dict[str, dict[str, Any]], place: Path) -> None:
    a, b, c = (place / "outside" / name for name in "abc")
    (notice,) = seen["writes"]["ended"]["notices"]
    assert notice["message"].partition(" ")[2] == f"writes outside the working directory: {a}, {b}, {c} and 1 more"
    assert (notice["path"], notice["line"]) == ("does_writes.py", len(HEAD.splitlines()) + 2)
    assert notices(seen["removes"]) == [f"writes outside the working directory: {place / 'outside' / 'old'}"]
    assert notices(seen["saves"]) == [f"writes outside the working directory: {place / 'outside' / 'weights.pt'}"]


@slow
def test_what_may_be_written_is_not_told(seen: dict[str, dict[str, Any]], place: Path) -> None:
    assert notices(seen["writes at home"]) == []
    mine = place / "home" / ".cache" / "mine"
    assert notices(seen["writes where libraries may"]) == [f"writes outside the working directory: {mine}"]
    assert notices(seen["forks"]) == [], "the process has to tell what is its own"
    assert depends(seen["changes what it reads"]).unseen == f"{place / 'project' / 'state'} changed in the meantime"


@slow
def test_the_network_signals_and_what_goes_on_running_are_told(seen: dict[str, dict[str, Any]], place: Path) -> None:
    assert notices(seen["connects"]) == ["opens a connection: 127.0.0.1:1"]
    assert notices(seen["binds"]) == [f"opens a socket: {place / 'project' / 'socket'}"]
    assert depends(seen["connects"]).unseen == depends(seen["binds"]).unseen == "it uses the network"
    assert notices(seen["signals"]) == ["signals processes that it did not start: SIGCONT"]
    assert notices(seen["signals its own"]) == []
    assert depends(seen["signals its own"]).unseen == "it starts other processes"
    assert notices(seen["leaves"]) == ["leaves a thread running"]
    assert [seen[name]["left"] for name in ("leaves", "signals its own", "reads")] == [1, 0, 0]


def test_the_stamp_of_a_file_changes_with_its_bytes_and_that_of_a_folder_with_its_names(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert stamp_of_file(str(file)) == "absent"
    file.write_text("1")
    first, listed = stamp_of_file(str(file)), stamp_of_file(str(tmp_path))
    os.utime(file, (1, 1))
    assert stamp_of_file(str(file)) == first
    file.write_text("2")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / ".hidden").touch()
    assert stamp_of_file(str(file)) != first
    assert stamp_of_file(str(tmp_path)) == listed
    (tmp_path / "b").touch()
    assert stamp_of_file(str(tmp_path)) != listed


@pytest.mark.parametrize("name", ["large", "site-packages/module.py"])
def test_what_is_large_or_installed_is_stamped_by_its_time(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    if name == "large":
        os.truncate(file, 64 << 20)
    os.utime(file, ns=(5, 5))
    assert stamp_of_file(str(file)) == f"time:{file.stat().st_size}:5"
    os.utime(file, ns=(6, 6))
    assert stamp_of_file(str(file)).endswith(":6")


def test_what_is_no_file_is_stamped_without_being_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody ever writes to it
    assert stamp_of_file(str(tmp_path / "pipe")).startswith("special:")
    assert stamp_of_variable({"A": "1"}, "A") != stamp_of_variable({"A": "2"}, "A")
    assert stamp_of_variable({"A": "\udcff"}, "B") == "absent"
