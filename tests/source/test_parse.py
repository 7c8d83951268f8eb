"""How files are read: encodings, newlines, and one Diagnostic for each file that cannot be."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

from onnxlint.base.records import Diagnostic
from onnxlint.source.parse import SourceFile, parse_source, read_source, source_lines


def parse(data: bytes) -> SourceFile:
    source = parse_source(Path("x.py"), data, "x.py")
    assert isinstance(source, SourceFile)
    return source


def refuse(data: bytes) -> tuple[str, int | None, str]:
    found = parse_source(Path("x.py"), data, "x.py")
    assert isinstance(found, Diagnostic)
    assert found.path == "x.py"
    return found.level, found.line, found.message


def test_an_empty_file_is_a_file() -> None:
    source = parse(b"")
    assert (source.tree.body, source.lines, source.line(1), source.line(2)) == ([], ("",), "", "")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x = 'é'".encode(), "x = 'é'"),
        (b"\xef\xbb\xbfx = 1", "x = 1"),
        ("# -*- coding: latin-1 -*-\nx = 'é'".encode("latin-1"), "# -*- coding: latin-1 -*-\nx = 'é'"),
        ("#!/bin/python\n# coding: cp1252\nx = '€'".encode("cp1252"), "#!/bin/python\n# coding: cp1252\nx = '€'"),
    ],
)
def test_the_encoding_that_python_would_take_is_taken(data: bytes, text: str) -> None:
    assert parse(data).text == text


def test_newlines_are_kept_and_lines_are_counted_as_python_does() -> None:
    source = parse(b"a = 1\r\nb = 2\rc = 3\n\x0cd = 4 # \x0b \xe2\x80\xa8\ne = 5\n")
    assert source.text.startswith("a = 1\r\nb")
    for statement in source.tree.body:
        assert isinstance(statement, ast.Assign)
        assert ast.unparse(statement) in source.line(statement.lineno)


def test_columns_count_characters() -> None:
    source = parse("x = 'é€😀'; y = 1\n".encode())
    last = source.tree.body[-1]
    column = source.column(last.lineno, last.col_offset)
    assert source.line(1)[column - 1 :] == "y = 1"


def test_a_warning_of_the_parser_stays_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse(b"x = '\\d'\nassert (1, 2)\n").tree.body


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"x = 1\nif x\n    y\n", 2, "the file does not parse as Python"),
        (b"x = (\n", 1, "the file does not parse as Python"),
        (b"x = 1\n\tif y:\n", 2, "the file does not parse as Python"),
        (b"x = 1\ny = '\0'\n", 2, "the file holds a null byte"),
        (b"x = 1\ny = 2\ns = '\xe9'\n", 3, "the file is not UTF-8; save it as UTF-8, or name its encoding"),
        (b"x = '\xe9'\n", 1, "the file is not UTF-8; save it as UTF-8, or name its encoding"),
        (b"\n# coding: nonsense\nx = 1\n", 2, "the encoding that the file names is unusable"),
        (b"# coding: hex\nx = 1\n", 1, "the encoding that the file names is unusable"),
        (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", 1, "the encoding that the file names is unusable"),
        (b"# coding: ascii\nx = 1\ny = '\xe9'\n", 3, "the file is not ascii, which its first lines name"),
        (b"# coding: unicode_escape\nx = '\\ud800'\n", 1, "the encoding that the file names is unusable"),
        (
            b"# coding: raw_unicode_escape\n# \\u000ax = 1\n",
            1,
            "the encoding that the file names is unusable: `raw_unicode_escape` is no enc",
        ),
        (b"# coding: punycode\nx = 1\n-" + b"a" * 4_000_000, 1, "the encoding that the file names is unusable"),
        (b"# coding: idna\nx = 1\n", 1, "the encoding that the file names is unusable: `idna` is no encoding"),
        (b"# coding: utf-7\nx = '+2AA-'\n", None, "the file does not parse"),
        ("x = 1\n".encode("utf-16"), 1, "the file is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(data: bytes, line: int | None, message: str) -> None:
    level, at, found = refuse(data)
    assert (level, at) == ("error", line)
    assert found.startswith(message)
    assert ";" in found, "the message says what to do"


@pytest.mark.parametrize(
    "data", [b"x = " + b"(" * 5000 + b")" * 5000, b"x = " + b"-" * 100_000 + b"1", b"x" + b".a" * 50_000 + b"\n"]
)
def test_deep_nesting_is_read_or_refused_but_never_raises(data: bytes) -> None:
    found = parse_source(Path("x.py"), data, "x.py")
    assert isinstance(found, SourceFile) or found.level == "error"


def test_a_file_that_is_too_large_is_left_out_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.py"
    with path.open("wb") as file:
        file.truncate(20_000_000)
    found = read_source(path)
    assert isinstance(found, Diagnostic)
    assert (found.level, found.message) == ("warning", "the file is 20.0 MB long, the limit is 5 MB; it is left out")


def test_a_file_that_vanished_is_an_error(tmp_path: Path) -> None:
    found = read_source(tmp_path / "gone.py")
    assert isinstance(found, Diagnostic)
    assert found.level == "error"
    assert found.message.startswith("the file cannot be read: No such file or directory")
    assert source_lines(str(tmp_path / "gone.py")) == []


def test_lines_for_display_are_decoded_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes("# coding: latin-1\r\nx = 'é'\r\n".encode("latin-1"))
    assert source_lines(str(path)) == ["# coding: latin-1", "x = 'é'", ""]


def test_the_lines_of_a_file_are_those_that_were_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gate.py"
    path.write_text("import torch\n\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert source_lines("gate.py", {path.resolve(): b"first\nsecond"}) == ["first", "second"]
    assert source_lines(str(path), {})[:2] == ["import torch", ""]
