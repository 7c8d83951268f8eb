"""Diffs of long files: the text that they lead to, and the time that they take."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from onnxlint.run.fixing import fix_writing
from onnxlint.run.fixing.fix_writing import Change, unified_diff


def diff_of(old: str, new: str) -> str:
    return "".join(unified_diff(Change("m.py", Path("m.py"), old.encode(), old, new, "utf-8")))


@pytest.mark.parametrize("seed", range(40))
def test_what_git_makes_of_a_diff_in_pieces_is_the_new_text(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fix_writing, "LONG", 0)
    chance = random.Random(seed)
    rows = [chance.choice(["same", "pass", f"x{n}", ""]) for n in range(chance.randrange(1, 40))]
    after = list(rows)
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(after) + 1)
        after[at : at + chance.randrange(3)] = [chance.choice(["new", "same", "x1"])] * chance.randrange(3)
        chance.shuffle(after) if seed % 10 == 0 else None
    ends = ["\n", ""]
    old, new = "\n".join(rows) + chance.choice(ends), "\n".join(after) + chance.choice(ends)
    (tmp_path / "m.py").write_text(old)
    patch = diff_of(old, new)
    if old == new:
        assert patch == ""
        return
    subprocess.run(["git", "apply", "-p0", "--unidiff-zero", "-"], cwd=tmp_path, input=patch, text=True, check=True)
    assert ((tmp_path / "m.py").read_text() if new else "") == new


def test_a_diff_in_pieces_of_one_change_is_that_of_difflib(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "".join(f"x{n} = {n % 3}\n" for n in range(100))
    new = old.replace("x50 = 2", "x50 = 7")
    whole = diff_of(old, new)
    monkeypatch.setattr(fix_writing, "LONG", 0)
    assert diff_of(old, new) == whole


def test_lines_that_repeat_are_compared_in_their_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    kind = fix_writing.difflib.SequenceMatcher

    def noted(junk: None, a: list[str], b: list[str], autojunk: bool = True) -> object:
        sizes.append(sum(b.count(row) for row in a) if len(set(b)) < len(b) else len(a))  # what it looks at
        return kind(junk, a, b, autojunk)

    old = "".join(f"class C{n}:\n    a = 1\n    b = 2\n\n" for n in range(3000))
    monkeypatch.setattr(fix_writing.difflib, "SequenceMatcher", noted)
    assert diff_of(old, old.replace("a = 1", "a = 3")).count("\n+    a = 3") == 3000
    assert sum(sizes) < 100_000
