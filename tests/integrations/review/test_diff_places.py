"""Which lines of a pull request can carry a comment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.integrations.review import diff_places
from onnxlint.integrations.review.diff_places import Part, Place, PullDiff, read_files

PATCH = """\
@@ -1,4 +1,5 @@
 import torch
-old = 1
+new = 1
+newer = 2
 last = 3
 more = 4
@@ -40,2 +41,3 @@ def f():
 a = 1
+b = 2
 c = 3
\\ No newline at end of file"""


def entry(name: str, patch: str | None, **more: Any) -> dict[str, Any]:
    return {"filename": name, "status": "modified", "changes": 3} | ({"patch": patch} if patch else {}) | more


FILE = ["import torch", "new = 1", "newer = 2", "last = 3", "more = 4", *[""] * 35, "a = 1", "b = 2", "c = 3"]


def shown(lines: list[str]) -> PullDiff:
    """What the pull request shows, where the file that was checked has these lines."""
    return read_files([entry("m.py", PATCH)], {"m.py": lines}.get, print)  # type: ignore[arg-type]


def test_lines_that_can_be_commented_on() -> None:
    diff = shown(FILE)
    assert diff.place("m.py", 2, 3) == Place("m.py", 2, 3)
    assert diff.place("m.py", 5, 30) == Place("m.py", 5, 5)
    assert diff.place("m.py", 30, 42) == Place("m.py", 41, 42)
    assert diff.place("m.py", 20, 30) is None
    assert diff.place("n.py", 2, 3) is None
    assert diff.whole("m.py", 1, 5) == Place("m.py", 1, 5)
    assert diff.whole("m.py", 5, 41) is None
    assert [n for n in range(1, 50) if diff.adds("m.py", n, n)] == [2, 3, 42]
    assert not diff.differs("m.py")


def test_the_file_that_was_checked_has_to_have_what_is_shown() -> None:
    diff = shown(["import torch\r", "new = 1", "newer = 2", "last = 3", "more = 5", "b = 2"])
    assert diff.place("m.py", 1, 4) == Place("m.py", 1, 4)
    assert diff.place("m.py", 2, 5) is None
    assert diff.whole("m.py", 1, 5) is None
    assert diff.place("m.py", 41, 42) is None
    assert diff.differs("m.py")
    assert shown([]).place("m.py", 1, 1) is None


def test_lines_that_have_moved_in_the_file_that_was_checked() -> None:
    diff = shown(["# of", "# the base", *FILE[:30], "# once more", *FILE[30:]])
    assert diff.place("m.py", 4, 5) == Place("m.py", 2, 3)
    assert diff.place("m.py", 45, 45) == Place("m.py", 42, 42)
    assert diff.whole("m.py", 44, 46) == Place("m.py", 41, 43)
    assert diff.place("m.py", 2, 2) is None
    assert [n for n in range(1, 50) if diff.adds("m.py", n, n)] == [4, 5, 45]
    assert not diff.differs("m.py")


def test_of_alike_lines_the_nearest_are_taken() -> None:
    assert shown([*FILE[:40], *FILE[40:], *FILE[40:]]).place("m.py", 42, 42) == Place("m.py", 42, 42)
    moved = shown(["#", *FILE[:5], *FILE[40:], *[""] * 32, *FILE[40:]])
    assert moved.place("m.py", 43, 43) == Place("m.py", 42, 42)
    assert moved.place("m.py", 8, 8) is None


def test_files_without_a_text_of_the_change() -> None:
    warned: list[str] = []
    files = [
        entry("big.py", None),
        entry("moved.py", None, status="renamed", changes=0),
        entry("gone.py", PATCH, status="removed"),
        entry("odd.py", "@@ nothing @@"),
        entry("cut.py", PATCH[:60]),
        entry("bare.py", "@@ -1 +0,0 @@\n-all"),
    ]
    diff = read_files(files, lambda _: FILE, warned.append)
    assert diff.unshown == {"big.py", "odd.py", "cut.py"}
    assert set(diff.files) == {"bare.py"}
    assert diff.place("bare.py", 1, 9) is None
    assert len(warned) == 1


@given(st.text(alphabet="ab \x0c\x1c\x85\u2028\r+-@\\", max_size=9), st.text(max_size=9))
def test_no_line_confuses_the_diff(odd: str, other: str) -> None:
    odd, other = (line.replace("\n", "").rstrip("\r") for line in (odd, other))
    diff = read_files(
        [entry("m.py", f"@@ -1,2 +1,3 @@\n {odd}\n-{other}\n+{other}\n+{odd}")], lambda _: FILE, pytest.fail
    )
    assert diff.files["m.py"][0].shown == {1: odd, 2: other, 3: odd}


def test_hunks_are_found_in_a_time_that_no_pull_request_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(shown: Mapping[int, str], moved: int, lines: Sequence[str]) -> bool:
        nonlocal compared
        compared += len(shown)
        return False

    monkeypatch.setattr(diff_places, "_stands", counted)
    rows = (["x"] * 9 + ["z"]) * 10_000
    hunk = Part(dict(enumerate(rows[:3000], 1)), frozenset())
    assert diff_places._fitted([hunk] * 3, rows) == [hunk] * 3
    assert compared <= diff_places.MOST
