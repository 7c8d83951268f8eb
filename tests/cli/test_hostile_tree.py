"""Trees that would keep a reader waiting: the run ends, says one thing about each, and checks the rest."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlint.base.files import NotAFile, TooLong, read_bytes

ROOT = Path(__file__).resolve().parents[2]
GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
FOUND = "gate.py:6:12: ONX101"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ONNXLINT_CACHE_DIR", str(tmp_path / "cache"))
    Path("gate.py").write_text(GATE)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def run(*arguments: str) -> tuple[int, list[str]]:
    """Run onnxlint where neither time nor memory is without end; return its status and what it says, line by line."""
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
        preexec_fn=limited,
    )
    said = (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
    assert "Traceback" not in said
    assert "internal error" not in said
    return done.returncode, said.splitlines()


def check(*arguments: str) -> tuple[int, list[str]]:
    return run("check", "--static-only", "--output-format", "concise", *arguments)


def sparse(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(20 * 10**9)


def bound(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path)


UNFIT: dict[str, tuple[Callable[[str], None], str]] = {
    "a link to a device without end": (lambda path: os.symlink("/dev/zero", path), "device"),
    "a link to a terminal": (lambda path: os.symlink("/dev/tty", path), "device"),
    "a pipe": (os.mkfifo, "pipe"),
    "a link to a pipe": (lambda path: (os.mkfifo("pipe"), os.symlink("pipe", path))[1], "pipe"),
    "a socket": (bound, "socket"),
    "20 GB of nothing": (sparse, "MB long"),
    "what the kernel makes up": (lambda path: os.symlink("/proc/self/environ", path), "/proc"),
}


@pytest.fixture(params=UNFIT.values(), ids=UNFIT)
def unfit(request: pytest.FixtureRequest) -> tuple[Callable[[str], None], str]:
    return request.param  # type: ignore[no-any-return]


def test_a_source_is_left_out_with_one_message(unfit: tuple[Callable[[str], None], str]) -> None:
    make, words = unfit
    make("odd.py")
    _, said = check()
    (_,) = [line for line in said if words in line]  # of a link outside of the tree, it names where that leads
    assert any(line.startswith(FOUND) for line in said)


def test_a_gitignore_is_not_used_with_one_message(unfit: tuple[Callable[[str], None], str]) -> None:
    make, words = unfit
    make(".gitignore")
    code, said = check()
    (message,) = [line for line in said if line.startswith(".gitignore")]
    assert "not used" in message
    assert words in message or "symbolic link" in message
    assert code == 1
    assert any(line.startswith(FOUND) for line in said)


def test_the_exclude_file_of_a_repository_is_not_used_with_one_message(
    unfit: tuple[Callable[[str], None], str],
) -> None:
    make, words = unfit
    os.makedirs(".git/info")
    with contextlib.chdir(".git/info"):
        make("exclude")
    code, said = check()
    (message,) = [line for line in said if line.startswith(".git/info/exclude")]
    assert words in message
    assert (code, any(line.startswith(FOUND) for line in said)) == (1, True)


def test_a_baseline_and_a_configuration_are_one_message(unfit: tuple[Callable[[str], None], str]) -> None:
    make, words = unfit
    make("odd")
    for option in ("--baseline", "--config"):
        code, said = check(option, "odd", "gate.py")
        (message,) = [line for line in said if line.startswith("odd")]
        assert words in message
        assert (code, any(line.startswith(FOUND) for line in said)) == (2, True)


def test_a_kept_counterexample_claims_nothing(unfit: tuple[Callable[[str], None], str]) -> None:
    make, _ = unfit
    os.makedirs(".onnxlint/repro/gate")
    for folder, name in ((".onnxlint/repro/gate", "repro.py"), (".onnxlint/repro", "index.json")):
        with contextlib.chdir(folder):
            make(name)
    assert run("repro")[0] == 0


def test_entries_of_the_cache_are_no_entries(unfit: tuple[Callable[[str], None], str], tmp_path: Path) -> None:
    make, _ = unfit
    expected = check()
    assert expected[1][0].startswith(FOUND)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.parents[3].name == "cache"]
    assert kept
    for path in kept:
        path.unlink()
        with contextlib.chdir(path.parent):
            Path("pipe").unlink(missing_ok=True)
            make(path.name)
    assert check()[1][0] == expected[1][0]


@pytest.mark.parametrize("line", ["*" + "a*" * 8 + "b", "**/a*/" * 30 + "b", "*a" * 2000 + "b", "[[:" * 1300 + "]"])
def test_no_pattern_takes_long(line: str) -> None:
    for number in range(20):
        Path("a" * 240 + f"{number}.py").write_text("")
    os.makedirs("a/" * 100)
    Path("a/" * 100, "a" * 200 + ".py").write_text("")
    Path(".gitignore").write_text(f"{line}\n")
    lists = "".join(f'{name} = ["{line}"]\n' for name in ("exclude", "extend-exclude"))
    Path("onnxlint.toml").write_text(
        f'{lists}include = ["*.py", "{line}"]\nper-file-ignores = {{ "{line}" = ["ONX"] }}'
    )
    assert any(row.startswith(FOUND) for row in check()[1])


def test_many_patterns_and_many_files_take_seconds() -> None:
    for number in range(2000):
        Path(f"module_{number}.py").write_text("")
    Path(".gitignore").write_text("".join(f"*x*{number}*y\nfolder_{number}/*.py\n" for number in range(2500)))
    assert FOUND in [row[: len(FOUND)] for row in check()[1]]


def test_a_folder_of_many_entries_is_walked() -> None:
    os.mkdir("many")
    for number in range(100_000):
        os.mknod(f"many/{number}.txt")
    assert FOUND in [row[: len(FOUND)] for row in check()[1]]


def test_folders_deeper_than_a_path_may_be_are_named_and_the_rest_is_checked() -> None:
    here = os.open(".", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep")
        os.chdir("deep")
    os.fchdir(here)
    _, said = check()
    assert sum("cannot be read" in row for row in said) == 1
    assert FOUND in [row[: len(FOUND)] for row in said]
    subprocess.run(["rm", "-rf", "deep"], check=True)


def test_names_that_no_terminal_shows_are_checked() -> None:
    names = [b"a\nb.py", b"\xff.py", b"x" * 252 + b".py", b"\x1b[2J.py", "\u202e.py".encode()]
    for power, name in enumerate(names):  # copies would be one finding
        Path(os.fsdecode(name)).write_text(GATE.replace("x.sum()", f"(x ** {power}).sum()"))
    assert sum("ONX101" in row for row in check()[1]) == len(names) + 1


def test_a_folder_called_like_a_file_and_one_that_is_shut_are_no_fault_of_the_rest() -> None:
    os.mkdir("x.py")
    os.mkdir("onnxlint.toml")
    os.mkdir(".gitignore")
    os.symlink("nowhere.py", ".#gate.py")
    code, said = check()
    assert (code, FOUND in [row[: len(FOUND)] for row in said]) == (1, True)


class TestReader:
    def test_a_file_that_grows_meanwhile_is_read_up_to_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("log").write_bytes(b"x" * 10)
        real = os.read

        def growing(handle: int, size: int) -> bytes:
            with open("log", "ab") as file:
                file.write(b"x" * 10)
            return real(handle, size)

        monkeypatch.setattr(os, "read", growing)
        with pytest.raises(TooLong):
            read_bytes("log", 10_000)

    def test_what_takes_the_place_of_a_file_is_looked_at_after_it_is_open(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("file").write_bytes(b"x")
        real = os.open

        def swapped(path: str, flags: int) -> int:
            os.unlink("file")
            os.mkfifo("file")
            return real(path, flags)

        monkeypatch.setattr(os, "open", swapped)
        with pytest.raises(NotAFile, match="pipe"):
            read_bytes("file", 10)

    def test_a_device_is_never_opened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "open", None)
        with pytest.raises(NotAFile, match="device"):
            read_bytes("/dev/null", 10)

    def test_links_are_followed_or_not(self) -> None:
        os.symlink("gate.py", "link")
        assert read_bytes("link", 1000).decode() == GATE
        with pytest.raises(NotAFile, match="symbolic link"):
            read_bytes("link", 1000, follow=False)
