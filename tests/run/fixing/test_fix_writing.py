"""Fixed text in the place of a file, and the diff that shows it: what it leads to, and the time that it takes."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxlint.run.fixing import fix_writing
from onnxlint.run.fixing.fix_writing import Change, unified_diff, unwritable, write


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

    def noted(junk: None = None, a: Sequence[str] = "", b: Sequence[str] = "", autojunk: bool = True) -> object:
        sizes.append(sum(b.count(row) for row in a) if len(set(b)) < len(b) else len(a))  # what it looks at
        return kind(junk, a, b, autojunk)

    old = "".join(f"class C{n}:\n    a = 1\n    b = 2\n\n" for n in range(3000))
    monkeypatch.setattr(fix_writing.difflib, "SequenceMatcher", noted)
    assert diff_of(old, old.replace("a = 1", "a = 3")).count("\n+    a = 3") == 3000
    assert sum(sizes) < 100_000


def test_a_file_that_has_changed_since_is_left(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("new\n")
    change = Change("model.py", path, b"old\n", "old\n", "fixed\n", "utf-8")
    assert write(change) == "the file has changed since it was read: run again"
    assert path.read_text() == "new\n"


def test_text_that_the_encoding_lacks_is_told(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(b"old\n")
    fault = write(Change("model.py", path, b"old\n", "old\n", "\u20ac\n", "latin-1"))
    assert fault is not None
    assert "latin-1" in fault
    assert path.read_bytes() == b"old\n"


@pytest.mark.parametrize("name", ["m.py", "two words.py", "größe.py", 'quo"te.py', "back\\slash.py", "tab\there.py"])
def test_git_takes_a_diff_whatever_the_file_is_called(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a = 1\nb = 2\n")
    change = Change(name, tmp_path / name, b"", "a = 1\nb = 2\n", "a = 1\nb = 3\n", "utf-8")
    patch = "".join(unified_diff(change))
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=patch.encode(), check=True)
    assert (tmp_path / name).read_text() == "a = 1\nb = 3\n"


def test_a_diff_keeps_windows_line_ends_and_parts_no_line_at_a_form_feed() -> None:
    rows = diff_of("a = 1\r\nx = '\x0c\u2028'\r\n", "a = 2\r\nx = '\x0c\u2028'\r\n").split("\n")
    assert rows == ["--- m.py", "+++ m.py", "@@ -1,2 +1,2 @@", "-a = 1\r", "+a = 2\r", " x = '\x0c\u2028'\r", ""]


def test_a_file_is_written_in_its_encoding_and_with_its_mark(tmp_path: Path) -> None:
    for encoding, before in (("latin-1", b"x = '\xdf'\r\n"), ("utf-8-sig", b"\xef\xbb\xbfx = '\xc3\x9f'\r\n")):
        path = tmp_path / f"{encoding}.py"
        path.write_bytes(before)
        old = before.decode(encoding)
        assert write(Change(path.name, path, before, old, old.replace("x", "y"), encoding)) is None
        assert path.read_bytes() == before.replace(b"x", b"y")


def test_what_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    assert unwritable(path) == "No such file or directory"
    path.touch()
    assert unwritable(path) is None
    path.chmod(0o444)
    assert unwritable(path) == "the file is read-only"
