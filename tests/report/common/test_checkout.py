"""Paths from the top of a checkout, and as text that JSON can hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint.report.common.checkout import GITHUB, as_text, in_checkout


@pytest.mark.parametrize("folder", ["packages/a", "two words/größe", "."])
def test_a_path_counts_from_the_top_of_the_checkout(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    monkeypatch.setenv(GITHUB, str(tmp_path))
    inside = "src/m.py" if folder == "." else f"{folder}/src/m.py"
    assert in_checkout("src/m.py", GITHUB) == inside
    assert in_checkout(str(tmp_path / folder / "src" / "m.py"), GITHUB) == inside


def test_a_folder_whose_name_begins_with_two_dots_is_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(GITHUB, str(tmp_path))
    assert in_checkout("..old/m.py", GITHUB) == "..old/m.py"
    assert in_checkout(f"{tmp_path}/..old/m.py", GITHUB) == "..old/m.py"


def test_a_path_stays_where_no_checkout_is_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(GITHUB, str(tmp_path / "other"))
    assert in_checkout("m.py", GITHUB) == "m.py"
    assert in_checkout("/opt/m.py", GITHUB) == "/opt/m.py"
    assert in_checkout(str(tmp_path), GITHUB) == str(tmp_path)
    monkeypatch.setenv(GITHUB, "")
    assert in_checkout("m.py", GITHUB) == "m.py"
    monkeypatch.delenv(GITHUB)
    assert in_checkout("m.py", GITHUB) == "m.py"


def test_no_path_is_not_the_checkout_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(GITHUB, str(tmp_path))
    assert in_checkout("", GITHUB) == ""


def test_a_name_that_is_no_utf_8_becomes_an_escape_and_another_stays() -> None:
    assert as_text("größe/画像 😀.py") == "größe/画像 😀.py"
    text = as_text("a\udcff\udc80.py")
    assert text == "a\\udcff\\udc80.py"
    assert json.loads(json.dumps(text).encode()) == text
