"""Comments that silence findings: what they cover, what they name, and which are reported as unused."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base.records import Finding, Severity, Span
from onnxlint.source.parse import SourceFile, parse_source
from onnxlint.source.suppress import apply

RULES = {"ONX101": "tensor-branch", "ONX102": "tensor-bool-operator", "ONX201": "literal-batch", "ONX702": "refused"}


def run(text: str, *places: tuple[str, int], static: bool = False) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the findings that are kept of those at `places` (code, line), and the messages about unused comments."""
    source = parse_source(Path("x.py"), text.encode(), "x.py")
    assert isinstance(source, SourceFile)
    findings = [
        Finding(code, RULES[code], Severity.ERROR, "m", Span("x.py", line, 1, line, 2)) for code, line in places
    ]
    kept, suppressed, unused = apply(
        findings, {"x.py": source}, RULES, lambda code, name: not (static and code.startswith("ONX7"))
    )
    assert set(map(id, kept)) | set(map(id, suppressed)) == set(map(id, findings))
    assert len(kept) + len(suppressed) == len(findings)
    return [(finding.code, finding.span.line) for finding in kept], [one.message for one in unused]


AT_1 = ("ONX101", 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA: onx101",
        "# noqa: ONX101",
        "# noqa:ONX1",
        "# noqa: E501, ONX101 because",
        "# type: ignore  # noqa: ONX101",
        "# onnxlint: ignore",
        "# onnxlint: ignore[ONX101] it is a constant",
        "#onnxlint:ignore[tensor-branch]",
        "# onnxlint: ignore[ONX102, ONX101]  # noqa: E501",
    ],
)
def test_a_comment_on_the_line_silences_the_finding(comment: str) -> None:
    assert run(f"x = 1  {comment}\n", AT_1)[0] == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: ONX102",
        "# noqa-not",
        "# noqable",
        "# ruff: noqa",
        "# flake8: noqa: ONX101",
        "# onnxlint: ignore[ONX2]",
        "# onnxlint: ignore(ONX101)",
        "# onnxlint: ignored",
        "# onnxlint: ignore-me[ONX101]",
    ],
)
def test_another_comment_does_not(comment: str) -> None:
    assert run(f"x = 1  {comment}\n", AT_1)[0] == [AT_1]


def test_a_marker_in_a_string_is_no_comment() -> None:
    assert run("x = '# noqa'\ny = '''\n# onnxlint: ignore-file\n'''\n", AT_1, ("ONX101", 2)) == (
        [AT_1, ("ONX101", 2)],
        [],
    )


@pytest.mark.parametrize("carrier", [1, 2, 3])
def test_a_comment_anywhere_in_a_statement_covers_all_its_lines(carrier: int) -> None:
    rows = ["y = f(", "    x,", ")", "z = 1"]
    rows[carrier - 1] += "  # noqa: ONX101"
    places = [("ONX101", line) for line in (1, 2, 3, 4)]
    assert run("\n".join(rows), *places)[0] == [("ONX101", 4)]


def test_a_comment_on_a_header_does_not_cover_the_body() -> None:
    text = "if (a and\n        b):  # noqa\n    x = 1\nelse:\n    x = 2\n"
    assert run(text, ("ONX101", 1), ("ONX101", 3), ("ONX101", 5))[0] == [("ONX101", 3), ("ONX101", 5)]


def test_a_comment_after_a_long_string_or_a_backslash_covers_the_statement() -> None:
    assert run('x = """\n\n"""  # noqa\ny = 1 + \\\n    2  # noqa\n', ("ONX101", 1), ("ONX101", 4))[0] == []


def test_a_comment_on_its_own_line_covers_no_statement() -> None:
    kept, unused = run("# onnxlint: ignore[ONX101]\nx = 1\n", ("ONX101", 2))
    assert kept == [("ONX101", 2)]
    assert unused == ["`ONX101` silences no finding here"]


@pytest.mark.parametrize("line", [1, 3])
def test_ignore_file_covers_the_file_from_anywhere(line: int) -> None:
    rows = ["", "x = 1", "", "y = 2"]
    rows[line - 1] = "# onnxlint: ignore-file[ONX1]"
    assert run("\n".join(rows), ("ONX101", 2), ("ONX201", 4)) == ([("ONX201", 4)], [])


def test_windows_lines_and_form_feeds_do_not_shift_it() -> None:
    assert run("a = 1\r\n\x0cx = 1  # noqa\r\nb = 1\r\n", ("ONX101", 1), ("ONX101", 2), ("ONX101", 3))[0] == [
        ("ONX101", 1),
        ("ONX101", 3),
    ]


def test_a_file_that_was_not_read_keeps_its_findings() -> None:
    finding = Finding("ONX101", "tensor-branch", Severity.ERROR, "m", Span("other.py", 1, 1, 1, 2))
    assert apply([finding], {}) == ((finding,), (), ())


class TestUnused:
    @pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501", "# noqa: some words", "x"])
    def test_comments_for_other_tools_are_never_unused(self, comment: str) -> None:
        assert run(f"x = 1  # {comment}\n")[1] == []

    @pytest.mark.parametrize(
        ("comment", "message"),
        [
            ("# noqa: ONX101", "`ONX101` silences no finding here"),
            ("# noqa: E501, ONX1", "`ONX1` silences no finding here"),
            ("# onnxlint: ignore", "`# onnxlint: ignore` silences no finding"),
            ("# onnxlint: ignore-file[tensor-branch]", "`tensor-branch` silences no finding here"),
            ("# noqa: ONX999", "`ONX999` names no rule"),
            (
                "# onnxlint: ignore[ONX102, nonsense]",
                "`ONX102` silences no finding here; `nonsense` names no rule",
            ),
        ],
    )
    def test_ours_are(self, comment: str, message: str) -> None:
        assert run(f"x = 1  {comment}\n")[1] == [message]

    def test_one_code_of_two_may_be_unused(self) -> None:
        assert run("x = 1  # noqa: ONX101, ONX102\n", AT_1) == ([], ["`ONX102` silences no finding here"])

    def test_a_rule_that_could_not_speak_leaves_its_comment_alone(self) -> None:
        text = "x = 1  # noqa: ONX702\n"
        assert run(text, static=True)[1] == []
        assert run(text)[1] == ["`ONX702` silences no finding here"]

    def test_the_span_is_the_comment(self) -> None:
        source = parse_source(Path("x.py"), "é = 1  # why  # noqa: ONX101\n".encode(), "x.py")
        assert isinstance(source, SourceFile)
        _, _, (unused,) = apply([], {"x.py": source})
        assert unused.span == Span("x.py", 1, 15, 1, 29)
        assert source.line(1)[14:28] == unused.text == "# noqa: ONX101"
