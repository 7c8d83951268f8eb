"""Recordings that are kept hold as long as what was read says the same, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from small_projects import module, read

from onnxlint.base.cache import digest
from onnxlint.project.classes import ModuleInfo, Reads
from onnxlint.project.fingerprints import Fingerprints, Moves, Record
from onnxlint.project.modules import Project

TEXT = """\
import torch
from util import scale

SIZE = 3


class Net(torch.nn.Module):
    dim = 4

    def forward(self, x):
        return scale(x) * SIZE

    def größe(self):
        return 1


def other():
    return 2
"""
UTIL = "import torch\n\n\ndef scale(x):\n    return x\n"


def fingerprints(project: Project) -> Fingerprints:
    return Fingerprints(project, lambda path: digest(path.read_bytes()), lambda path: digest(Path(path).read_bytes()))


def recorded(folder: Path, ask: Callable[[ModuleInfo], object]) -> Record:
    """What is kept of what is asked of the module `m`."""
    project = read(folder, {"m.py": TEXT, "util.py": UTIL})
    reads = Reads()
    project.record(reads)
    ask(module(project, "m"))
    made = fingerprints(project).record(reads)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(made), type=Record) == made, "it can be kept"
    return made


def moves(folder: Path, record: Record, text: str = TEXT, util: str | None = UTIL) -> Moves | None:
    """What another run, with these texts, makes of a recording."""
    if util is None:
        (folder / "util.py").unlink()
    return fingerprints(read(folder, {"m.py": text} | ({"util.py": util} if util is not None else {}))).moves(record)


def forward(info: ModuleInfo) -> object:
    return info.classes["Net"].methods["forward"].text


def test_what_did_not_change_holds(tmp_path: Path) -> None:
    assert moves(tmp_path, recorded(tmp_path, forward)) == {}


@pytest.mark.parametrize(
    ("old", "new", "by"),
    [
        ("return 2", "return 22", 0),
        ("return 1\n", "return 11\n", 0),
        ("SIZE = 3", "SIZE = 5", 0),
        ("import torch\n", "# größe\n\nimport torch\n", 2),
        ("\n\nclass Net", "\nclass Net", -1),
    ],
)
def test_what_was_not_read_may_change_and_what_was_may_move(tmp_path: Path, old: str, new: str, by: int) -> None:
    after = moves(tmp_path, recorded(tmp_path, forward), TEXT.replace(old, new))
    assert after is not None
    ((path, lines),) = after.items()
    assert path.endswith("m.py")
    assert lines == [(10, 11, by)]


@pytest.mark.parametrize(
    ("ask", "old", "new"),
    [
        (forward, "* SIZE", "+ SIZE"),
        (forward, "(torch.nn.Module)", "(torch.nn.Linear)"),
        (forward, "class Net(", "class Other("),
        (lambda info: info.assigns["SIZE"], "SIZE = 3", "SIZE = 5"),
        (lambda info: info.classes["Net"].text, "return 1", "return 11"),
        (lambda info: info.classes["Net"].find_attribute("dim"), "dim = 4", "dim = 5"),
        (lambda info: info.functions.get("gone"), "def other()", "def gone()"),
        (lambda info: info.target("scale"), "import scale", "import größe as scale"),
        (lambda info: list(info.functions), "return 2", "return 22"),
        (lambda info: info.file, "return 2", "return 22"),
    ],
)
def test_what_was_read_and_says_something_else_does_not_hold(
    tmp_path: Path, ask: Callable[[ModuleInfo], object], old: str, new: str
) -> None:
    record = recorded(tmp_path, ask)
    assert old in TEXT
    assert moves(tmp_path, record, TEXT.replace(old, new)) is None


def test_a_module_that_comes_or_goes_does_not_hold(tmp_path: Path) -> None:
    record = recorded(tmp_path, lambda info: (info.project.module("util"), info.project.module("gone")))
    assert moves(tmp_path, record) == {}
    (tmp_path / "gone.py").write_text("import torch\n")
    assert moves(tmp_path, record) is None
    (tmp_path / "gone.py").unlink()
    assert moves(tmp_path, record, util=None) is None


def test_the_same_reads_are_recorded_alike(tmp_path: Path) -> None:
    def ask(info: ModuleInfo) -> object:
        return [forward(info), info.assigns["SIZE"], info.project.module("util")]

    assert recorded(tmp_path, ask) == recorded(tmp_path, ask)
