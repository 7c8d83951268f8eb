"""The files of a run: what is read, what is wrong with them, and where names and statements stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base.cache import Store
from onnxlint.config.settings import Settings
from onnxlint.report.progress import SILENT
from onnxlint.run.sources import Sources
from onnxlint.source.discover import Discovery

MODEL = """\
import torch
from helper import double


class Net(torch.nn.Module):
    def forward(self, x):
        if (x.sum() > 0 and
                x.max() > 0):
            return double(
                x
            )
        return x


def build():
    return Net()
"""


def sources(root: Path, *names: str, overlay: dict[Path, bytes] | None = None, **settings: object) -> Sources:
    discovery = Discovery(tuple(root / name for name in names))
    made = Settings(root, jobs=1, **settings)  # type: ignore[arg-type]
    return Sources(discovery, made, SILENT, overlay or {}, Store(None))


@pytest.fixture
def root(here: Path) -> Path:
    for name, text in {"model.py": MODEL, "helper.py": "def double(x):\n    return x * 2\n"}.items():
        (here / name).write_text(text)
    (here / "lib" / "größe").mkdir(parents=True)
    (here / "lib" / "größe" / "__init__.py").write_text(
        "import torch\n\n\ndef make():\n    return torch.nn.Linear(1, 1)\n"
    )
    return here


def test_a_factory_stands_where_it_is_defined(root: Path) -> None:
    read = sources(root, "model.py", "helper.py", source_roots=(root / "lib",))
    assert read("model:Net") == ("model.py", 5)
    assert read("model:build") == ("model.py", 15)
    assert read("model:Net.from_config") == ("model.py", 5)
    assert read("model:gone") == ("model.py", 1)
    assert read("größe:make") == ("lib/größe/__init__.py", 4)
    assert read("gone:make") == ("", 0)
    assert sources(root, "model.py")("größe:make") == ("", 0), "below no root of the settings"


def test_files_have_the_names_that_findings_have(root: Path) -> None:
    read = sources(root, "model.py", "helper.py")
    assert list(read.files) == ["model.py"], "the other one never mentions torch"
    assert read.count == 2
    assert read.text("model.py") == MODEL
    assert read.text("helper.py") == "def double(x):\n    return x * 2\n"
    assert read.text("gone.py") is None
    assert (read.line("model.py", 5), read.line("helper.py", 2)) == ("class Net(torch.nn.Module):", "    return x * 2")
    assert read.line("helper.py", 99) == read.line("helper.py", 0) == read.line("gone.py", 1) == ""


def test_the_text_that_is_handed_over_counts(root: Path) -> None:
    read = sources(
        root, "model.py", overlay={root / "model.py": MODEL.replace("\n", "\r\n").replace("Net", "Große").encode()}
    )
    assert read("model:Große") == ("model.py", 5)
    assert read.line("model.py", 5) == "class Große(torch.nn.Module):"


def test_a_statement_is_all_of_its_lines_and_of_a_compound_one_the_header(root: Path) -> None:
    read = sources(root, "model.py")
    assert [read.statement_lines("model.py", line) for line in (7, 8, 10, 12)] == [(7, 8), (7, 8), (9, 11), (12, 12)]
    assert read.statement_lines("helper.py", 2) == (2, 2), "it is on the disk"
    assert read.statement_lines("gone.py", 3) == (3, 3)


def test_what_is_wrong_with_a_file_is_a_diagnostic(root: Path) -> None:
    (root / "broken.py").write_text("import torch\ndef f(:\n")
    (root / "bytes.py").write_bytes(b"import torch\nx = '\xff'\n")
    read = sources(root, "broken.py", "bytes.py", "model.py", "gone.py")
    read.index.parse()
    assert [(d.level, d.path, d.line) for d in read.diagnostics][:2] == [
        ("error", "broken.py", 2),
        ("error", "bytes.py", 2),
    ]
    assert [d.path for d in read.diagnostics] == ["broken.py", "bytes.py", "gone.py"]
    assert list(read.files) == ["model.py"]
    assert read.file("broken.py") is None
