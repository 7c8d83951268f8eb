"""Where output goes: standard output or a file, in the encoding there, with colours and links where they are wanted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from onnxlint.base.records import Diagnostic
from onnxlint.cli.output import deliver, encode, tell, tell_errors, wants_color, wants_links, write_file


def test_what_an_encoding_cannot_say_is_escaped() -> None:
    assert encode("é…\udce9", "ascii") == b"\\xe9\\u2026\\udce9"
    assert json.loads(encode('"é\udce9"', "utf-8")) == "é\udce9"


@pytest.mark.parametrize(
    ("choice", "environment", "colored"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
    ids=["no terminal", "forced", "NO_COLOR wins", "the flag over NO_COLOR", "the flag over FORCE_COLOR"],
)
def test_colours_are_wanted_by_the_flag_then_the_environment(
    choice: str, environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice) is colored


@pytest.mark.parametrize(("forced", "linked"), [(None, False), ("1", True), ("0", False)])
def test_links_are_for_terminals_unless_they_are_forced(
    forced: str | None, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_HYPERLINK", raising=False)
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    if forced is not None:
        monkeypatch.setenv("FORCE_HYPERLINK", forced)
    assert wants_links() is linked


def test_what_is_said_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell("onnxlint: \x1b[2Jmodel.py: no file")
    said = capsys.readouterr()
    assert said.out == ""
    assert "\x1b" not in said.err
    assert "model.py: no file" in said.err


def test_errors_are_printed_with_their_place_and_warnings_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell_errors([Diagnostic("warning", "slow", "a.py", 3)]) == 0
    assert tell_errors([Diagnostic("error", "broken", "a.py", 3), Diagnostic("error", "no model")]) == 2
    assert capsys.readouterr().err == "onnxlint: a.py:3: broken\nonnxlint: no model\n"


def test_a_report_ends_its_last_line_and_an_empty_one_is_nothing(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert deliver("one line", "full") == deliver("", "full") == 0
    assert capfdbinary.readouterr().out == b"one line\n"


def test_a_file_is_replaced_and_a_folder_is_named_as_one(here: Path) -> None:
    Path("report.txt").write_text("old")
    assert write_file(Path("report.txt"), "é") is None
    assert Path("report.txt").read_text("utf-8") == "é"
    fault = write_file(here, "é")
    assert fault is not None
    assert "this is a folder" in fault
    assert os.listdir() == ["report.txt"]
