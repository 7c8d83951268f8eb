"""The work of the static pass grows no faster than n log n with what it reads: counted in calls, not in seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from families import FAMILIES

from onnxlint.cli import main
from onnxlint.project.classes import MOST

GROWTH = 5.5  # n log n makes 5.4 of it, n squared 16


def check(*options: str) -> str:
    command = ["check", "--static-only", "--isolated", "--no-cache", "--jobs", "1", *options, "."]
    return CliRunner().invoke(main, command, catch_exceptions=False).output


def calls(act: Callable[[], object]) -> int:
    """Calls of functions, Python's and C's, and turns of generators."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    held = sys.getprofile()
    sys.setprofile(counting)
    try:
        act()
    finally:
        sys.setprofile(held)
    return count


def work(folder: Path, name: str, n: int, options: tuple[str, ...]) -> int:
    for path, text in FAMILIES[name].program(n).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    os.chdir(folder)
    return calls(lambda: check(*options, *FAMILIES[name].options(n)))


@pytest.mark.parametrize(
    ("name", "n", "options"),
    [
        ("ifs", 50, ()),
        ("ifs", 50, ("--fix", "--unsafe-fixes", "--diff")),
        ("early returns of calls", 100, ()),
        ("writes through views", 50, ()),
        ("variables and elses", 50, ("--output-format", "json")),
        ("ignores of a whole file", 50, ()),
        ("chain of subclasses", 300, ()),
        ("without the import of torch", 50, ()),
        ("guarded autocasts", 50, ()),
        ("star imports", 510, ()),
        ("per-file-ignores", 50, ()),
        ("exports", 50, ()),
        ("exports with axes", 50, ()),
        ("exports in arms", 50, ()),
        ("subtractions of one name", 100, ()),
        ("whiles", 50, ()),
        ("ifs with else", 50, ()),
        ("and of tests", 200, ()),
        ("data attributes of a statement", 100, ("--output-format", "json")),
    ],
)
def test_four_times_the_program_takes_about_four_times_the_work(
    name: str, n: int, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # and back
    base = [work(tmp_path / f"{turn}", name, 2, options) for turn in range(2)][-1]  # what every run takes
    small, large = (work(tmp_path / f"n{size}", name, size, options) - base for size in (n, 4 * n))
    assert large <= GROWTH * small, f"{small:,} calls for {n}, {large:,} for {4 * n}"


def test_what_is_left_out_of_a_long_chain_of_classes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(FAMILIES["chain of subclasses"].program(MOST + 10)["m.py"])
    told = [line for line in check("--output-format", "concise").splitlines() if f"over {MOST} bases" in line]
    assert len(told) == 1
    assert told[0].startswith("m.py:")
    assert f"M{MOST} " in told[0]


@pytest.mark.parametrize(
    ("name", "n", "said"),
    [
        ("short statements on a line", 5000, "the file has over 400,000 names, literals and operators"),
        ("data attributes of a statement", 2000, "left out: the statements or functions to rewrite are too long"),
    ],
)
def test_what_is_too_heavy_is_left_out_with_one_diagnostic(
    name: str, n: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(FAMILIES[name].program(n)["m.py"])
    told = [line for line in check("--output-format", "concise").splitlines() if said in line]
    assert len(told) == 1
    assert told[0].startswith("m.py:")
