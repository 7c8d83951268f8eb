"""Which files are read: .gitignore, exclude, explicit paths, and paths that are not what they seem."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxlint.base.globs import Glob
from onnxlint.config.settings import Settings
from onnxlint.source.discover import Discovery, discover


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """Before the fixtures of a class."""


def make(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def globs(patterns: Sequence[str]) -> tuple[Glob, ...]:
    return tuple(Glob(pattern, Path.cwd()) for pattern in patterns)


def found(
    *paths: str,
    exclude: Sequence[str] | None = None,
    extend: Sequence[str] = (),
    include: Sequence[str] = (),
    force: bool = False,
    gitignore: bool = True,
) -> list[str]:
    settings = Settings(
        root=Path.cwd(),
        exclude=None if exclude is None else globs(exclude),
        extend_exclude=globs(extend),
        include=globs(include),
        force_exclude=force,
        respect_gitignore=gitignore,
    )
    result = discover([Path(p) for p in paths or (".",)], settings)
    return [file.relative_to(Path.cwd()).as_posix() for file in result.files]


def complaints(*paths: str) -> list[tuple[str, str | None, str]]:
    result: Discovery = discover([Path(p) for p in paths], Settings(root=Path.cwd()))
    return [(d.level, d.path, d.message) for d in result.diagnostics]


def test_python_files_are_found_in_one_order() -> None:
    make("b.py", "a/z.py", "a/b/c.py", "a.py", "a/notes.txt", "a/stub.pyi")
    assert found() == ["a/b/c.py", "a/z.py", "a.py", "b.py"]
    assert found("b.py", ".", "a") == found()


def test_folders_of_tools_are_left_out() -> None:
    make("x.py", ".git/h.py", "node_modules/a/b.py", "build/b.py", "__pycache__/p.py", ".onnxlint/repro/r.py")
    make("myenv/lib/a.py", "myenv/pyvenv.cfg")
    assert found() == ["x.py"]


def test_a_named_file_is_taken_whatever_excludes_it() -> None:
    make("build/b.py", "gen/g.py", "script")
    assert found("build/b.py", "gen/g.py", "script", exclude=("gen/",)) == ["build/b.py", "gen/g.py", "script"]


def test_exclude_speaks_as_gitignore_does() -> None:
    make("a/gen/g.py", "gen/h.py", "a/x_pb2.py", "a/keep.py", "gen2/i.py")
    assert found(exclude=("gen/", "*_pb2.py")) == ["a/keep.py", "gen2/i.py"]
    assert found(exclude=("/gen/",)) == ["a/gen/g.py", "a/keep.py", "a/x_pb2.py", "gen2/i.py"]


def test_exclude_is_relative_to_the_root() -> None:
    make("sub/gen/g.py", "sub/x.py")
    assert found("sub", exclude=("sub/gen/",)) == ["sub/x.py"]


def test_exclude_replaces_the_folders_of_tools_and_extend_exclude_adds_to_them() -> None:
    make("build/b.py", "gen/g.py", "x.py", ".git/h.py", "env/pyvenv.cfg", "env/lib.py")
    assert found(extend=("gen/",)) == ["x.py"]
    assert found(exclude=("gen/",)) == ["build/b.py", "x.py"], "git's folder and virtual environments stay out"
    assert found(exclude=("gen/",), extend=("build/",)) == ["x.py"]


def test_force_exclude_holds_for_what_is_named() -> None:
    make("build/b.py", "gen/g.py", "x.py", "gen/deep/h.py")
    named = ("build/b.py", "gen/g.py", "x.py", "gen/deep")
    assert found(*named, extend=("gen/",), force=True) == ["x.py"]
    assert found(*named, extend=("/gen/g.py",)) == ["build/b.py", "gen/deep/h.py", "gen/g.py", "x.py"]


def test_include_says_what_a_source_file_is_called() -> None:
    make("a.py", "b.pyx", "src/c.py", "src/run")
    assert found(include=("*.pyx", "src/*")) == ["b.pyx", "src/c.py", "src/run"]


def test_a_folder_with_a_configuration_of_its_own_is_named_and_not_entered() -> None:
    make("a.py", "pkg/b.py", "pkg/pyproject.toml", "other/c.py", "other/pyproject.toml", "pkg/deep/pyproject.toml")
    result = discover([Path()], Settings(root=Path.cwd()), lambda folder: folder.name != "other")
    assert [file.name for file in result.files] == ["a.py", "c.py"]
    assert result.nested == (Path.cwd() / "pkg",)
    within = discover([Path("pkg")], Settings(root=Path.cwd()), lambda folder: True)
    assert ([file.name for file in within.files], within.nested) == (["b.py"], (Path.cwd() / "pkg/deep",))


class TestGitignore:
    @pytest.fixture(autouse=True)
    def _repository(self) -> None:
        Path(".git").mkdir()

    def test_nested_files_and_negation_are_respected(self) -> None:
        make("a.py", "out/o.py", "pkg/tmp_x.py", "pkg/tmp_keep.py", "pkg/deep/tmp_y.py")
        Path(".gitignore").write_text("/out/\ntmp_*\n")
        Path("pkg/.gitignore").write_text("!tmp_keep.py\n")
        assert found() == ["a.py", "pkg/tmp_keep.py"]

    def test_they_may_be_passed_over(self) -> None:
        make("a.py", "b.py", "pkg/c.py")
        Path(".gitignore").write_text("b.py\npkg/\n")
        assert found(gitignore=False) == ["a.py", "b.py", "pkg/c.py"]

    def test_the_rules_above_a_named_folder_count(self) -> None:
        make("pkg/a.py", "pkg/tmp_x.py")
        Path(".gitignore").write_text("tmp_*\n")
        assert found("pkg") == ["pkg/a.py"]

    def test_a_named_folder_is_walked_though_it_is_ignored(self) -> None:
        make("out/o.py", "out/deep/p.py")
        Path(".gitignore").write_text("out/\n")
        assert found() == []
        assert found("out") == ["out/deep/p.py", "out/o.py"]
        assert found("out/deep") == ["out/deep/p.py"]

    def test_the_private_exclude_file_counts(self) -> None:
        make("a.py", "mine.py", ".git/info/exclude")
        Path(".git/info/exclude").write_text("mine.py\n")
        assert found() == ["a.py"]

    def test_a_line_that_is_no_pattern_is_passed_over(self) -> None:
        make("a.py", "b.py")
        Path(".gitignore").write_bytes(b"!\n\xff\xfe\nb.py\n")
        assert found() == ["a.py"]


class TestOddPaths:
    def test_a_folder_called_like_a_file_is_walked(self) -> None:
        make("model.py/inner.py")
        assert found() == ["model.py/inner.py"]
        assert found("model.py") == ["model.py/inner.py"]

    def test_a_missing_path_is_an_error_and_the_rest_is_found(self) -> None:
        make("a.py")
        assert found("nope.py", "a.py") == ["a.py"]
        assert complaints("nope.py") == [
            ("error", "nope.py", "the path cannot be read: No such file or directory; check its spelling")
        ]

    def test_a_notebook_is_a_warning_with_the_remedy(self) -> None:
        make("n.ipynb")
        ((level, path, message),) = complaints("n.ipynb")
        assert (level, path) == ("warning", "n.ipynb")
        assert "jupyter nbconvert --to script" in message
        assert found("n.ipynb") == []

    def test_a_folder_without_python_is_a_warning(self) -> None:
        Path("empty").mkdir()
        assert complaints("empty") == [
            ("warning", "empty", "there is no Python file here, or all of them are excluded")
        ]

    def test_a_pipe_is_an_error_and_is_never_opened(self) -> None:
        os.mkfifo("p.py")
        assert complaints("p.py") == [("error", "p.py", "this is neither a file nor a folder; name a Python file")]
        assert found() == []

    def test_symbolic_links_that_loop_are_named_and_not_followed(self) -> None:
        make("a/x.py")
        os.symlink("..", "a/up")
        os.symlink("self.py", "a/self.py")
        assert found() == ["a/x.py"]
        assert [(level, path) for level, path, _ in complaints(".")] == [("warning", "a/self.py"), ("warning", "a/up")]
        assert complaints("a/self.py")[0][0] == "error"

    def test_a_link_to_a_folder_elsewhere_is_not_followed_unless_named(self) -> None:
        make("real/x.py", "proj/y.py")
        os.symlink("../real", "proj/link")
        assert found("proj") == ["proj/y.py"]
        assert complaints("proj") == []
        assert found("proj/link") == ["proj/link/x.py"]

    def test_a_folder_that_cannot_be_read_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make("a.py", "shut/b.py")
        real = os.scandir

        def scandir(path: str) -> object:
            if path.endswith("shut"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(os, "scandir", scandir)
        assert found() == ["a.py"]
        assert complaints(".") == [
            ("error", "shut", "the folder cannot be read: Permission denied; check the rights on it")
        ]
