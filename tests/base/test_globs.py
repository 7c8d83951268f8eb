"""Patterns mean what they mean to git and to pathspec, and no pattern takes long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from onnxlint.base.globs import Glob, Matcher, Patterns

# Few letters, so that names and patterns meet; both write what the other has.
NAME = st.text("ab.", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PATH = st.lists(NAME, min_size=1, max_size=4).map("/".join)
PIECE = st.one_of(NAME, st.sampled_from(["*", "**", "?", "a*", "*b", "*a*b*", "?*", "[ab]", "[!a]*", "\\a", "*.a"]))
BODY = st.builds(
    lambda lead, pieces, end: lead + "/".join(pieces) + end,
    st.sampled_from(["", "/"]),
    st.lists(PIECE, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
LINES = st.lists(st.builds(lambda mark, body: mark + body, st.sampled_from(["", "", "!"]), BODY), max_size=4)
ODD = st.text("ab*?[]!^\\/-: #.", max_size=8)


@given(BODY.filter(lambda body: not body.endswith("**/")), PATH)
@settings(max_examples=1500, deadline=None)
def test_a_pattern_means_the_files_that_it_means_to_pathspec(pattern: str, path: str) -> None:
    theirs = GitIgnoreSpec.from_lines([pattern]).check_file(path).include is True
    assert Matcher((Glob(pattern, Path("/base")),)).matches(f"/base/{path}") is theirs


@given(LINES.filter(lambda lines: not any(line.endswith("**/") for line in lines)), PATH)
@settings(max_examples=1500, deadline=None)
def test_a_list_means_the_files_that_it_means_to_pathspec(lines: list[str], path: str) -> None:
    globs = tuple(Glob(line, Path("/base")) for line in lines)
    theirs = GitIgnoreSpec.from_lines(lines).check_file(path).include is True
    assert Matcher(globs).matches(f"/base/{path}") is theirs


def git_ignores(tmp_path: Path, lines: list[str], paths: list[str]) -> list[bool]:
    """What git says; a path that ends in a slash is a folder. The file is found by git's own rules."""
    exclude = tmp_path / "patterns"
    exclude.write_text("".join(f"{line}\n" for line in lines), errors="surrogateescape")
    (tmp_path / "repository").mkdir(exist_ok=True)
    git = ["git", "-c", f"core.excludesFile={exclude}", "-C", str(tmp_path / "repository")]
    if not (tmp_path / "repository/.git").exists():
        subprocess.run([*git, "init", "-q"], check=True, capture_output=True)
    asked = "".join(f"{path}\0" for path in paths)
    done = subprocess.run(
        [*git, "check-ignore", "--stdin", "-z", "-v", "-n", "--no-index"], input=asked, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    fields = done.stdout.split("\0")[:-1]
    matched = [(fields[at + 2], fields[at + 3]) for at in range(0, len(fields), 4)]
    assert [path for _, path in matched] == paths
    return [bool(pattern) and not pattern.startswith("!") for pattern, _ in matched]


def ignored(patterns: Patterns, path: str) -> bool:
    """What we say, from the top as git does: what lies in an ignored folder is ignored."""
    parts = path.rstrip("/").split("/")
    for count in range(1, len(parts) + 1):
        if patterns.verdict("/".join(parts[:count]), count < len(parts) or path.endswith("/")) is True:
            return True
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("git")


@given(st.lists(st.one_of(BODY, ODD, LINES.map("".join)), max_size=5), st.lists(PATH, min_size=20, max_size=20))
@settings(max_examples=150, deadline=None)
def test_a_list_ignores_what_git_ignores(folder: Path, lines: list[str], paths: list[str]) -> None:
    ours = Patterns(lines)
    assert [ignored(ours, path) for path in paths] == git_ignores(folder, lines, paths)
