"""`onnxlint repro`: lists what is kept, finds one by name or fingerprint, and passes its exit code on."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from onnxlint.base.records import Cause, Evidence, Finding, Outcome, Severity, Span
from onnxlint.run.counterexamples import named, remember, saved

SCRIPT = '"""{claim}\n\nMore."""\nimport sys\nprint("ran", sys.argv[1:])\nsys.exit({code})\n'


def finding(line: int, *scripts: str) -> Finding:
    span = Span("g.py", line, 1, line, 3)
    evidence = tuple(
        Evidence("m", "torchscript", Cause.BRANCH, Outcome.WRONG_VALUES, (), "d", repro=script) for script in scripts
    )
    return Finding("ONX101", "r", Severity.ERROR, "m", span, evidence=evidence, text=f"line {line}")


@pytest.fixture
def folder(here: Path) -> Path:
    place = here / ".onnxlint/repro"
    for name, code in (("gate-torchscript-1", 1), ("gate-dynamo-1", 0), ("net-torchscript-1", 3)):
        (place / name).mkdir(parents=True)
        (place / name / "repro.py").write_text(SCRIPT.format(claim=f"{name} is wrong.", code=code))
    (place / "net-torchscript-1/found.npz").touch()
    return place


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onnxlint", "repro", *arguments]
    return subprocess.run(command, cwd=folder.parents[1], capture_output=True, text=True, timeout=120, check=False)


def test_what_is_kept_is_listed_with_what_it_shows(folder: Path) -> None:
    one = finding(1, ".onnxlint/repro/gate-dynamo-1/repro.py")
    remember([one])
    done = run(folder)
    assert done.returncode == 0
    assert [line.split(maxsplit=2) for line in done.stdout.splitlines()] == [
        ["gate-dynamo-1", one.fingerprint[:8], "gate-dynamo-1 is wrong."],
        ["gate-torchscript-1", "-", "gate-torchscript-1 is wrong."],
        ["net-torchscript-1", "-", "net-torchscript-1 is wrong."],
    ]


def test_an_index_that_is_a_link_is_replaced_and_not_what_it_leads_to(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (folder / "index.json").symlink_to(tmp_path / "other.json")
    one = finding(1, ".onnxlint/repro/gate-dynamo-1/repro.py")
    remember([one])
    assert (tmp_path / "other.json").read_text() == "{}"
    assert saved(folder)[0].fingerprints == (one.fingerprint,)


@pytest.mark.parametrize(("name", "code"), [("gate-torchscript-1", 1), ("gate-dynamo-1", 0), ("net", 3)])
def test_a_script_runs_and_its_exit_code_is_passed_on(folder: Path, name: str, code: int) -> None:
    done = run(folder, name)
    assert (done.returncode, done.stdout) == (code, "ran []\n")


def test_the_input_as_it_was_found_can_be_asked_for_where_it_is_kept(folder: Path) -> None:
    assert run(folder, "net-torchscript-1", "--found").stdout == "ran ['found.npz']\n"
    refused = run(folder, "gate-dynamo-1", "--found")
    assert refused.returncode == 2
    assert "kept as it was found" in refused.stderr


def test_all_scripts_of_a_finding_run_and_one_that_fails_fails(folder: Path) -> None:
    one = finding(1, *(f".onnxlint/repro/gate-{e}-1/repro.py" for e in ("torchscript", "dynamo")))
    remember([one])
    done = run(folder, one.fingerprint[:6])
    assert done.returncode == 1
    assert done.stdout.count("ran []") == 2
    assert "gate-dynamo-1: gate-dynamo-1 is wrong." in done.stdout


def test_a_name_that_is_wrong_is_answered_with_the_nearest(folder: Path) -> None:
    done = run(folder, "gate-torchscrip-1")
    assert done.returncode == 2
    assert "did you mean `gate-torchscript-1`?" in done.stderr


def test_an_empty_place_says_who_fills_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    done = run(tmp_path / "a/b/c", "--repro-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "`onnxlint check` keeps them there" in done.stderr


def test_the_index_forgets_what_is_gone_and_survives_what_is_not_ours(folder: Path) -> None:
    first, second = (
        finding(1, ".onnxlint/repro/gate-dynamo-1/repro.py"),
        finding(2, str(folder / "net-torchscript-1/x")),
    )
    remember([first])
    (folder / "gate-dynamo-1/repro.py").unlink()
    remember([dataclasses.replace(second)])
    there = saved(folder)
    assert [k.name for k in there] == ["gate-torchscript-1", "net-torchscript-1"]
    assert named(there, first.fingerprint) == []
    assert [k.name for k in named(there, second.fingerprint[:4])] == ["net-torchscript-1"]
    assert named(there, second.fingerprint[:3]) == []
    (folder / "index.json").write_text("[1")
    assert [k.fingerprints for k in saved(folder)] == [(), ()]


def test_a_script_imports_nothing_that_lies_beside_it(folder: Path) -> None:
    place = folder / "net-torchscript-1"
    (place / "base64.py").write_text('print("from beside")\n')
    (place / "repro.py").write_text('"""It."""\nimport base64\nprint("ran")\n')
    assert run(folder, "net-torchscript-1").stdout == "ran\n"
