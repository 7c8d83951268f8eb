"""What changed since a revision: against a real git, with the files and settings that people have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from onnxlint.changed import Base, Changed, ChangedError, changed_since
from onnxlint.records import Finding, Severity, Span, Step

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def git(*arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit() -> str:
    git("add", "-A")
    git("commit", "-q", "-m", "All of it")
    return git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no such file"))
    git("init", "-q", "-b", "main")
    Path("a.py").write_text(TEN)
    commit()


def base(revision: str = "HEAD", folder: Path = Path()) -> Base:
    return changed_since(revision, [folder])


def changed_lines(name: str = "a.py", revision: str = "HEAD", within: int = 12) -> list[int]:
    changed = base(revision).changed([name])
    return [line for line in range(1, within) if changed.touches(name, line, line)]


def write(*rows: str, name: str = "a.py") -> None:
    Path(name).write_text("".join(f"{row}\n" for row in rows))


def rows() -> list[str]:
    return TEN.splitlines()


def test_nothing_changed() -> None:
    assert changed_lines() == []


def test_lines_that_are_written_anew_and_added_count() -> None:
    new = rows()
    new[2] = "other"
    write(*new[:6], "more", "and more", *new[6:])
    assert changed_lines() == [3, 7, 8]


def test_where_lines_were_removed_both_sides_of_the_gap_count() -> None:
    new = rows()
    del new[4:6]
    write(*new)
    assert changed_lines() == [4, 5]


def test_lines_removed_at_the_top_count_for_the_first() -> None:
    write(*rows()[2:])
    assert changed_lines() == [1]


def test_what_is_staged_and_what_is_not_count_alike() -> None:
    write("first", *rows()[1:])
    git("add", "a.py")
    write("first", *rows()[1:9], "last")
    assert changed_lines() == [1, 10]


def test_a_renamed_file_keeps_the_lines_that_it_had() -> None:
    git("mv", "a.py", "b.py")
    write(*rows()[:9], "last", name="b.py")
    assert changed_lines("b.py") == [10]
    assert changed_lines("a.py") == []


def test_a_removed_file_is_not_spoken_of() -> None:
    Path("a.py").unlink()
    assert base().changed(["a.py"]).lines == {}


def test_a_file_that_git_does_not_know_is_new_even_if_it_is_ignored() -> None:
    """The list of ignored files is part of the change: it has no say in what the change is."""
    Path(".gitignore").write_text("out/\n")
    for name in ("new.py", "out/o.py"):
        Path(name).parent.mkdir(exist_ok=True)
        write("one", "two", name=name)
    assert changed_lines("new.py", within=3) == [1, 2]
    assert changed_lines("out/o.py", within=3) == [1, 2]


def test_a_binary_file_counts_as_a_whole() -> None:
    Path("w.bin").write_bytes(b"\0\1\2")
    commit()
    Path("w.bin").write_bytes(b"\0\1\3")
    assert changed_lines("w.bin", within=3) == [1, 2]


def test_only_what_came_after_the_fork_counts() -> None:
    git("checkout", "-q", "-b", "topic")
    write("topic", *rows()[1:])
    commit()
    git("checkout", "-q", "main")
    write(*rows()[:9], "main moved on")
    commit()
    git("checkout", "-q", "topic")
    assert changed_lines(revision="main") == [1]


def test_a_revision_without_a_common_ancestor_is_compared_with() -> None:
    git("checkout", "-q", "--orphan", "other")
    write("other", *rows()[1:])
    commit()
    assert changed_lines(revision="main") == [1]


@pytest.mark.parametrize("name", ["with space.py", 'quo"te.py', "tab\there.py", "ünïcödé.py", "中文.py", "b/b.py"])
def test_any_name_is_understood(name: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    write(*rows(), name=name)
    commit()
    write("new", *rows()[1:], name=name)
    assert changed_lines(name) == [1]


def test_lines_that_look_like_a_diff_and_bytes_that_are_no_text_are_harmless() -> None:
    Path("a.py").write_bytes(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n\xff\xfe\r\x0c\n" + TEN.encode())
    assert changed_lines(within=6) == [1, 2, 3, 4]
    assert changed_lines("x") == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.context", "9"),
        ("diff.interHunkContext", "9"),
        ("diff.renames", "false"),
        ("core.quotePath", "true"),
        ("diff.relative", "true"),
    ],
)
def test_settings_of_git_do_not_matter(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    git("config", key, value)
    Path("sub").mkdir()
    new = rows()
    new[2] = new[6] = "other"
    write(*new)
    monkeypatch.chdir("sub")
    assert changed_lines("../a.py") == [3, 7]


def test_a_finding_counts_if_its_statement_or_a_step_to_it_changed() -> None:
    changed = Changed({Path("a.py").resolve(): ((4, 5),), Path("b.py").resolve(): ((1, 1),)})

    def concerns(line: int, first: int, last: int, *steps: Step) -> bool:
        span = Span("a.py", line, 1, line, 5)
        return changed.concerns(Finding("ONX101", "r", Severity.ERROR, "m", span, trace=steps), first, last)

    assert concerns(5, 5, 5)
    assert not concerns(6, 6, 7)
    assert concerns(6, 3, 7), "an argument of the call changed"
    assert concerns(9, 9, 9, Step("a.py", 2, "input"), Step("a.py", 4, "is assigned"))
    assert concerns(9, 9, 9, Step("b.py", 1, "is returned"))
    assert not concerns(9, 9, 9, Step("c.py", 1, "is returned"))


class TestWrong:
    @pytest.mark.parametrize("revision", ["nope", "HEAD~99", "--help", "HEAD:a.py", ""])
    def test_a_revision_that_is_none(self, revision: str) -> None:
        with pytest.raises(ChangedError, match=r"no commit|no revision"):
            base(revision)

    def test_a_folder_without_a_repository(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        with pytest.raises(ChangedError, match="no working tree of git"):
            base(folder=tmp_path_factory.mktemp("plain"))

    def test_no_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(Path.cwd() / "empty"))
        with pytest.raises(ChangedError, match="git is not installed"):
            base()

    def test_a_repository_without_a_commit(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("fresh")
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        with pytest.raises(ChangedError, match="no commit `HEAD`"):
            base(folder=folder)
