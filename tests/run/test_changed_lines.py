"""What changed since a revision: against a real git, with the files and settings that people have."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.base.records import Finding, Severity, Span, Step
from onnxlint.run.changed_lines import Base, Changed, ChangedError, changed_since
from onnxlint.run.git import repository_around

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
def _repository(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(here / "no such file"))
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


@pytest.mark.parametrize(
    "attributes", ["-diff", "binary", "-text", "text eol=crlf", "diff=x", "filter=x", "export-ignore", "merge=ours"]
)
@pytest.mark.parametrize("file", [".gitattributes", ".git/info/attributes"])
def test_attributes_do_not_matter(attributes: str, file: str) -> None:
    for key in ("diff.x.textconv", "diff.x.command", "filter.x.clean"):
        git("config", key, "true")
    write(*rows()[:9], "last")
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(f"* {attributes}\n")
    assert changed_lines() == [10]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_marks_in_the_index_do_not_matter(flag: str) -> None:
    git("update-index", flag, "a.py")
    write(*rows()[:9], "last")
    assert changed_lines() == [10]


def test_neither_does_the_list_of_ignored_files_for_one_that_is_committed() -> None:
    for file in (".gitignore", ".git/info/exclude"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text("new.py\n")
    write("one", "two", name="new.py")
    git("add", "-f", "new.py")
    assert changed_lines("new.py", "main", within=3) == [1, 2]


def test_what_is_said_to_stand_in_place_of_a_commit_does_not() -> None:
    before = git("rev-parse", "HEAD")
    write(*rows()[:9], "last")
    git("replace", before, commit())
    assert changed_lines(revision=before) == [10]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines_are_no_change_and_each_ends_one(end: str) -> None:
    Path("a.py").write_bytes(TEN.replace("\n", end).encode())
    assert changed_lines() == []
    Path("a.py").write_bytes(TEN.replace("line 7", "other").replace("\n", end).encode())
    assert changed_lines() == [7]


def test_lines_are_counted_in_what_python_decodes() -> None:
    Path("a.py").write_bytes(b"# coding: utf-7\nx = 1+AAo-y = 2+AAo-z = 3\n")
    commit()
    Path("a.py").write_bytes(b"# coding: utf-7\nx = 1+AAo-y = 2+AAo-z = 4\n")
    assert changed_lines() == [4]


class TestLinks:
    def test_one_that_is_new_makes_all_new_behind_it(self) -> None:
        Path("link.py").symlink_to("a.py")
        assert changed_lines("link.py", within=3) == [1, 2]
        commit()
        assert changed_lines("link.py") == []

    @pytest.mark.parametrize("way", ["link/m.py", "again/m.py"])
    def test_one_that_leads_elsewhere_does_too(self, way: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        for name in ("old/m.py", "other/m.py"):
            Path(name).parent.mkdir()
            write("x", name=name)
        Path("link").symlink_to("old")
        Path("again").symlink_to("link")
        commit()
        assert changed_lines(way) == []
        Path("link").unlink()
        Path("link").symlink_to("other")
        assert changed_lines(way, within=3) == [1, 2]

    def test_what_lies_outside_of_the_tree_counts_for_a_finding_in_it_alone(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        outside = tmp_path_factory.mktemp("outside") / "m.py"
        outside.write_text("x\n")
        assert base().changed([str(outside)]).touches(str(outside), 1, 1)
        assert base().changed([], [str(outside)]).lines == {}


def test_an_installed_library_is_no_change_unless_it_is_committed() -> None:
    library = Path(".venv/lib/python3/site-packages/lib.py")
    library.parent.mkdir(parents=True)
    library.write_text("x\n")
    assert base().changed([], [str(library)]).lines == {}
    git("checkout", "-q", "-b", "topic")
    commit()
    assert base("main").changed([], [str(library)]).touches(str(library), 1, 1)


def test_a_submodule_is_new_as_a_whole_where_another_commit_of_it_is_checked_out() -> None:
    git("-c", "protocol.file.allow=always", "clone", "-q", ".", "sub")
    commit()  # as a submodule
    assert changed_lines("sub/a.py") == []
    write("other", *rows()[1:], name="sub/a.py")
    git("-C", "sub", "commit", "-q", "-a", "-m", "x")
    assert changed_lines("sub/a.py", within=3) == [1, 2]
    commit()
    assert (changed_lines("sub/a.py", "HEAD~1", within=3), changed_lines("sub/a.py")) == ([1, 2], [])


class TestRepositories:
    def test_a_further_working_tree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        git("worktree", "add", "-q", "-b", "topic", "there")
        monkeypatch.chdir("there")
        write("first", *rows()[1:])
        git("commit", "-q", "-a", "-m", "x")
        assert (changed_lines(revision="main"), changed_lines(), changed_lines(revision="HEAD@{1}")) == ([1], [], [1])

    @pytest.mark.parametrize("how", [["--shared"], ["--depth=1"], ["--reference", "."], ["--separate-git-dir", "dir"]])
    def test_a_clone(self, how: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        git("clone", "-q", *how, Path.cwd().as_uri() if "--depth=1" in how else ".", "clone")
        monkeypatch.chdir("clone")
        git("checkout", "-q", "-b", "topic", "--track", "origin/main")
        write("first", *rows()[1:])
        commit()
        assert (changed_lines(revision="origin/main"), changed_lines(revision="@{upstream}")) == ([1], [1])

    def test_one_that_names_objects_by_sha256(self, monkeypatch: pytest.MonkeyPatch) -> None:
        git("init", "-q", "--object-format=sha256", "other")
        monkeypatch.chdir("other")
        write(*rows())
        commit()
        write("first", *rows()[1:])
        assert changed_lines() == [1]

    def test_the_one_that_is_named_where_the_working_directory_is_in_none(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        write("first", *rows()[1:])
        monkeypatch.chdir(tmp_path_factory.mktemp("plain"))
        assert base(folder=tmp_path / "a.py").changed([str(tmp_path / "a.py")]).touches(str(tmp_path / "a.py"), 1, 1)


ODD = st.sampled_from(
    ["a", "b", "", "+a", "-b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No newline", "\x0c", "\x85", " "]
)


@settings(max_examples=25, deadline=None, database=None, derandomize=True)
@given(st.lists(ODD, max_size=8), st.lists(ODD, max_size=8))
def test_the_lines_that_did_not_change_were_there_in_that_order(old: list[str], new: list[str]) -> None:
    write(*old)
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "x")
    write(*new)
    changed = changed_lines(within=len(new) + 1)
    before = iter(old)
    assert all(row in before for n, row in enumerate(new, 1) if n not in changed)
    assert bool(changed) is (old != new) or not new


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
    @pytest.mark.parametrize("revision", ["nope", "HEAD~99", "--help", "HEAD:a.py", "HEAD..HEAD", "^HEAD", ""])
    def test_a_revision_that_is_none(self, revision: str) -> None:
        with pytest.raises(ChangedError, match=r"no commit|no revision"):
            base(revision)

    @pytest.mark.parametrize("kind", ["tag", "branch"])
    @pytest.mark.parametrize("named", ["origin/main", "short", "long"])
    def test_a_name_that_somebody_gave_to_a_commit_of_theirs_as_well(self, kind: str, named: str) -> None:
        git("update-ref", "refs/remotes/origin/main", "main")
        known = git("rev-parse", "main")
        revision = {"short": known[:8], "long": known}.get(named, named)
        write("a change", name="b.py")
        commit()
        git("update-ref", f"refs/{'tags' if kind == 'tag' else 'heads'}/{revision}", "HEAD")
        if named == "long":
            assert base(revision).commit == known, "an id means what it says"
        else:
            with pytest.raises(ChangedError, match=f"`{revision}` is ambiguous"):
                base(revision)
        assert base("refs/remotes/origin/main").commit == known
        git("tag", "HEAD", known)
        assert changed_lines("b.py", "refs/remotes/origin/main") == [1]

    def test_a_folder_without_a_repository(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        with pytest.raises(ChangedError, match="no working tree of git"):
            base(folder=tmp_path_factory.mktemp("plain"))

    @pytest.mark.parametrize("text", [b"gitdir: \0", b"gitdir: .git", b"gitdir: ", b"\xff", b"", None])
    def test_a_git_that_leads_nowhere_is_passed_over(self, text: bytes | None) -> None:
        Path("sub").mkdir()
        if text is None:
            os.mkfifo("sub/.git")
        else:
            Path("sub/.git").write_bytes(text)
        write("one", name="sub/a.py")
        assert base(folder=Path("sub")).repository.top == Path.cwd()
        assert repository_around(Path.cwd() / "sub") == base().repository

    @pytest.mark.parametrize("file", ["HEAD", "commondir"])
    def test_a_repository_of_rubbish(self, file: str) -> None:
        Path(".git", file).write_bytes(b"\0" * 9)
        if file == "HEAD":
            with pytest.raises(ChangedError, match="no commit"):
                base()
        else:
            assert changed_lines() == []

    def test_no_git(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(Path.cwd() / "empty"))
        with pytest.raises(ChangedError, match="git is not installed"):
            base()

    def test_a_repository_without_a_commit(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("fresh")
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        with pytest.raises(ChangedError, match="no commit `HEAD`"):
            base(folder=folder)
