"""A fix is shown as the lines that it takes and gives; one that does not fit the source is not shown."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Edit, Fix, Safety
from onnxlint.report.common.hunks import Hunk, edited, hunks
from onnxlint.report.formats.text import fix_diff

LINES = ["a = f(x)\r\n", "b = 2\r\n", "c = 3\r\n", ""]


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    return Edit("m.py", start, end, text)


def shown(*edits: Edit) -> list[str]:
    fix = Fix("mend it", Safety.SAFE, edits)
    return [line.plain for line in fix_diff(fix, lambda path: LINES if path == "m.py" else [])]


def test_edits_on_one_line() -> None:
    assert shown(edit((1, 5), (1, 6), "g"), edit((1, 7), (1, 8), "y")) == ["   1 - a = f(x)", "   1 + a = g(y)"]


def test_an_edit_that_removes_a_line() -> None:
    assert shown(edit((2, 1), (3, 1), "")) == ["   2 - b = 2"]


def test_an_edit_that_adds_at_the_end() -> None:
    assert shown(edit((4, 1), (4, 1), "d = 4\n")) == ["   4 + d = 4"]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param((edit((9, 1), (9, 2), ""),), id="beyond the last line"),
        pytest.param((edit((1, 40), (1, 41), ""),), id="beyond the end of the line"),
        pytest.param((edit((2, 1), (1, 1), ""),), id="backwards"),
        pytest.param((edit((1, 1), (1, 6), ""), edit((1, 3), (1, 4), "")), id="overlapping"),
    ],
)
def test_edits_that_do_not_fit(edits: tuple[Edit, ...]) -> None:
    assert hunks(Fix("mend it", Safety.SAFE, edits), lambda path: LINES) == []
    assert shown(*edits) == []


def test_a_long_diff_is_cut() -> None:
    drawn = shown(edit((1, 1), (3, 6), "\n".join(f"x{i}" for i in range(30))))
    assert len(drawn) == 13
    assert drawn[-1] == "… 21 more lines"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param((edit((2, 5), (2, 6), "9"),), [(2, 2, "b = 9")], id="a word"),
        pytest.param((edit((2, 1), (3, 1), ""),), [(2, 2)], id="a line goes"),
        pytest.param((edit((1, 1), (1, 1), "import z\n"),), [(1, 1, "import z", "a = f(x)")], id="a line comes first"),
        pytest.param((edit((3, 1), (3, 1), "z = 0\n"),), [(2, 2, "b = 2", "z = 0")], id="a line comes between"),
        pytest.param(
            (edit((1, 1), (1, 2), "z"), edit((3, 1), (3, 2), "y")), [(1, 3, "z = f(x)", "b = 2", "y = 3")], id="near"
        ),
    ],
)
def test_a_hunk_replaces_whole_lines(edits: tuple[Edit, ...], expected: list[Any]) -> None:
    found = hunks(Fix("mend it", Safety.SAFE, edits), lambda path: LINES)
    assert found == [Hunk("m.py", first, last, tuple(lines)) for first, last, *lines in expected]


TEXT = "".join(f"x{i} = {i % 3}\n" for i in range(30))
PLACES = st.tuples(st.integers(1, 31), st.integers(1, 6))


@settings(deadline=None)
@given(
    st.lists(st.tuples(PLACES, PLACES, st.sampled_from(["", "y", "y\n", "x3 = 0\n", "\n\n"])), max_size=4),
    st.booleans(),
)
def test_a_change_says_what_the_edits_do(edits: list[Any], ended: bool) -> None:
    text = TEXT if ended else TEXT.rstrip("\n")
    fix = Fix("mend it", Safety.UNSAFE, tuple(edit(*sorted(places), new) for *places, new in edits))
    try:
        after = apply_edits(text, fix.edits)
    except ValueError:
        assert edited(fix, lambda path: text.split("\n")) == []
        return
    for change in edited(fix, lambda path: text.split("\n")):
        assert "\n".join(change.after) == after
        at = there = 0
        for tag, i, j, k, m in change.opcodes:
            assert (i, k) == (at, there)
            assert (change.before[i:j] == change.after[k:m]) == (tag == "equal")
            at, there = j, m
        assert (at, there) == (len(change.before), len(change.after))
    made = text.split("\n")
    for hunk in reversed(hunks(fix, lambda path: text.split("\n"))):
        made[hunk.first - 1 : hunk.last] = hunk.lines
    assert "\n".join(made) == after


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
@pytest.mark.parametrize("text", ["a\nb\nc\n", "a\nb\nc", "a\n", "a", "\n"])
@pytest.mark.parametrize(
    ("place", "new"),
    [((1, 1), "import z\n"), ((-1, 1), "z = 1\n"), ((-1, -1), "z"), ((-1, -1), "\n"), ((1, 1), "")],
)
def test_git_takes_the_patch(text: str, place: tuple[int, int], new: str, tmp_path: Path) -> None:
    lines = text.split("\n")
    row = place[0] % (len(lines) + 1)
    at = (row, 1 if place[1] == 1 else len(lines[row - 1]) + 1)
    end = at if new else (row, len(lines[row - 1]) + 1)
    fix = Fix("mend it", Safety.SAFE, (edit(at, end, new),))
    (tmp_path / "m.py").write_text(text)
    (change,) = edited(fix, lambda path: lines)
    after = apply_edits(text, fix.edits)
    if after != text:
        command = ["git", "apply", "-"]
        done = subprocess.run(command, input=change.patch(), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, change.patch() + done.stderr
    assert (tmp_path / "m.py").read_text() == after


def test_many_fixes_of_a_long_file_take_no_time() -> None:
    lines = [["", "x = 1", "        return x"][i % 3] for i in range(6000)]
    fixes = [
        Fix("mend it", Safety.SAFE, (edit((1, 1), (1, 1), "import z\n"), edit((n, 1), (n, 1), "z")))
        for n in range(5800, 5950)
    ]
    began = time.perf_counter()
    assert all(len(hunks(fix, lambda path: lines)) == 2 for fix in fixes)
    assert time.perf_counter() - began < 10  # 1 s alone; the comparison of all lines takes minutes


def test_changes_far_apart_are_two_hunks() -> None:
    lines = [f"x{i} = {i}" for i in range(20)]
    fix = Fix("mend it", Safety.SAFE, (edit((2, 1), (2, 2), "y"), edit((18, 1), (18, 2), "y")))
    assert [(h.first, h.last, h.lines) for h in hunks(fix, lambda path: lines)] == [
        (2, 2, ("y1 = 1",)),
        (18, 18, ("y17 = 17",)),
    ]


ROWS = ["a = 1", "", "b = 22\r", "c", ""]
PLACES = st.tuples(st.integers(0, 6), st.integers(0, 7))


@given(st.lists(st.tuples(PLACES, PLACES, st.sampled_from(["", "x", "x\n", "\ny\n", "p\nq"])), max_size=3))
def test_a_fix_gives_the_lines_that_its_edits_give(places: list[tuple[tuple[int, int], tuple[int, int], str]]) -> None:
    fix = Fix("", Safety.SAFE, tuple(Edit("m.py", *place) for place in places))
    text = "\n".join(line.rstrip("\r") for line in ROWS)
    try:
        after = apply_edits(text, fix.edits).split("\n")
    except ValueError:
        assert edited(fix, lambda _: ROWS) == []
        return
    for change in edited(fix, lambda _: ROWS):
        made, lines = ([line.rstrip("\r") for line in side] for side in (change.after, change.before))
        assert made == after
        assert lines == text.split("\n")
        for tag, i, j, k, m in change.opcodes:
            assert (lines[i:j] == made[k:m]) == (tag == "equal")
        assert sum(m - k for _, _, _, k, m in change.opcodes) == len(after)


class Counted(list[str]):
    read = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        self.read += 1
        return super().__getitem__(at)

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.read += len(self)
        return super().__iter__()


def test_a_small_fix_in_a_long_file_reads_the_lines_that_it_changes() -> None:
    lines = Counted(["x = 1"] * 10_000)
    fix = Fix("", Safety.SAFE, (Edit("m.py", (5000, 1), (5000, 6), "y = 2"), Edit("m.py", (9000, 1), (9000, 1), "z\n")))
    assert list(fix_diff(fix, lambda _: lines))
    assert lines.read < 20
