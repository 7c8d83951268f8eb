"""Writing `# noqa`: at a line that takes a comment, beside what stands there, and never at the cost of the program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from onnxlint.base.records import Finding, Severity, Span
from onnxlint.source.annotate import AnnotateError, annotate, fault_in_reason
from onnxlint.source.parse import SourceFile, parse_source
from onnxlint.source.suppress import apply


def source(data: bytes | str) -> SourceFile:
    read = parse_source(Path("x.py"), data.encode() if isinstance(data, str) else data, "x.py")
    assert isinstance(read, SourceFile)
    return read


def written(data: bytes | str, line: int = 1, *codes: str, reason: str = "") -> bytes:
    """Annotate one line, and hold the result against what every result must be."""
    before = source(data)
    codes = codes or ("ONX101",)
    result = annotate(before, {line: codes}, reason)
    after = source(result)
    assert ast.dump(after.tree) == ast.dump(before.tree)
    assert len(after.lines) == len(before.lines)
    found = [Finding(code, "rule", Severity.ERROR, "m", Span("x.py", line, 1, line, 2)) for code in codes]
    kept, _, unused = apply(found, {"x.py": after})
    assert (kept, [u for u in unused if "ONX101" in u.message]) == ((), [])
    assert annotate(after, {}, reason) == result
    return result


@pytest.mark.parametrize(
    ("line", "commented"),
    [
        ("x = 1", "x = 1  # noqa: ONX101"),
        ("x = 1   ", "x = 1  # noqa: ONX101"),
        ("x = 1  # why", "x = 1  # why  # noqa: ONX101"),
        ("x = 1  # type: ignore[attr]", "x = 1  # type: ignore[attr]  # noqa: ONX101"),
        ("x = 1  # noqa: E501", "x = 1  # noqa: E501, ONX101"),
        ("x = 1  # noqa: E501, W605 long", "x = 1  # noqa: E501, W605, ONX101 long"),
        ("x = 1  # noqa:E501  # type: ignore", "x = 1  # noqa:E501, ONX101  # type: ignore"),
        ("x = 1  # noqa: ONX102", "x = 1  # noqa: ONX102, ONX101"),
        ("x = 1  # onnxlint: ignore[ONX102] a", "x = 1  # onnxlint: ignore[ONX102] a  # noqa: ONX101"),
        ("x = '# noqa: E501'", "x = '# noqa: E501'  # noqa: ONX101"),
        ("x = '# noqa: E501'  # noqa: W1", "x = '# noqa: E501'  # noqa: W1, ONX101"),
        ("if x: pass", "if x: pass  # noqa: ONX101"),
        ("x = 1; y = 2", "x = 1; y = 2  # noqa: ONX101"),
    ],
)
def test_a_comment_is_put_behind_what_stands_there(line: str, commented: str) -> None:
    assert written(f"{line}\n") == f"{commented}\n".encode()


@pytest.mark.parametrize(
    ("line", "commented"),
    [
        ("x = 1", "x = 1  # noqa: ONX101 old model"),
        ("x = 1  # noqa: E501", "x = 1  # noqa: E501, ONX101 old model"),
        ("x = 1  # noqa: E501 long", "x = 1  # noqa: E501, ONX101 long; old model"),
        ("x = 1  # noqa: E501 long  # type: ignore", "x = 1  # noqa: E501, ONX101 long; old model  # type: ignore"),
        ("x = 1  # noqa: E501  # type: ignore", "x = 1  # noqa: E501, ONX101 old model  # type: ignore"),
        ("x = 1  # noqa: E501 old model", "x = 1  # noqa: E501, ONX101 old model"),
    ],
)
def test_the_reason_stands_behind_the_codes(line: str, commented: str) -> None:
    assert written(f"{line}\n", reason="old model") == f"{commented}\n".encode()


def test_several_codes_are_sorted_and_named_once() -> None:
    assert written("x = 1\n", 1, "ONX201", "ONX101", "ONX201") == b"x = 1  # noqa: ONX101, ONX201\n"


CASES = {
    "on its own line within brackets": ("x = f(\n    a,\n    b,\n)\n", 2, 2),
    "at the end of a bracket": ("x = f(\n    a,\n    b)\n", 3, 3),
    "behind a long string": ('x = """\n\n"""\ny = 1\n', 1, 3),
    "behind a long string that ends a call": ('x = f(a, """\n  b\n""", c)\ny = 1\n', 2, 3),
    "behind an f-string of several lines": ('x = f"""\n{a}\n{\n  b}\n"""\n', 3, 5),
    "behind a continuation": ("x = 1 + \\\n    2 + \\\n    3\ny = 4\n", 1, 3),
    "within brackets, behind a continuation": ("x = f(a, \\\n    b,\n    c)\n", 1, 2),
    "on a header": ("if (a and\n        b):\n    x = 1\n", 1, 1),
    "on the last line, which has no end": ("x = 1\ny = 2", 2, 2),
    "on a decorator": ("@f\ndef g():\n    pass\n", 1, 1),
    "within a class": ("class A:\n\n    # why\n    x = 1\n", 4, 4),
}


@pytest.mark.parametrize(("text", "line", "place"), CASES.values(), ids=CASES)
def test_it_stands_where_python_lets_it(text: str, line: int, place: int) -> None:
    rows = written(text, line).decode().split("\n")
    assert [number for number, row in enumerate(rows, 1) if row.endswith("  # noqa: ONX101")] == [place]


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\ry = 2\r",
        b"x = 1\r\ny = 2\nz = 3",
        b"\xef\xbb\xbfx = 1\ny = 2\n",
        b"# -*- coding: latin-1 -*-\ny = '\xe9'\n",
        b"x = 1\n\x0c\ny = 2\n",
        "x = 'é中'\n".encode(),
    ],
    ids=["windows", "old mac", "mixed", "byte order mark", "latin-1", "form feed", "utf-8"],
)
def test_all_other_bytes_stay(data: bytes) -> None:
    comment = b"  # noqa: ONX101"
    result = written(data, 2 if b"coding" in data else 1)
    assert comment in result
    assert result.replace(comment, b"") == data


def test_a_line_of_no_statement_is_refused() -> None:
    with pytest.raises(AnnotateError, match="line 2 is part of no statement"):
        annotate(source("x = 1\n\n"), {2: ("ONX101",)})


def test_a_reason_that_the_encoding_has_not_is_refused() -> None:
    with pytest.raises(AnnotateError, match="iso-8859-1"):
        annotate(source(b"# coding: latin-1\nx = 1\n"), {2: ("ONX101",)}, "中")


@pytest.mark.parametrize(
    "reason", ["", "the gate is closed in production", "see issue 12", "ünïcödé", "onnx: later", "e. g. this"]
)
def test_a_plain_reason_is_fine(reason: str) -> None:
    assert fault_in_reason(reason) is None
    written("x = 1\n", reason=reason)


@pytest.mark.parametrize("reason", ["two\nlines", "a\ttab", "ONX102 too", "abc1", "see #12", "noqa", "\x00"])
def test_a_reason_that_would_be_misread_is_not(reason: str) -> None:
    assert fault_in_reason(reason) is not None
