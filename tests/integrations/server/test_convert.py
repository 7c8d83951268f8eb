"""Places and findings in the words of the protocol, in whichever unit the editor counts columns."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from onnxlint.base.records import (
    Cause,
    Diagnostic,
    Edit,
    Evidence,
    Finding,
    Location,
    Outcome,
    Severity,
    Span,
    Step,
    VerdictKind,
)
from onnxlint.integrations.server.convert import Places, at, diagnostic, fault, to_path

TEXT = 'a = 1\ny = "🦊é"; x.sum()\n\tz = 2\n'
UNITS = {
    types.PositionEncodingKind.Utf8: (13, 20),
    types.PositionEncodingKind.Utf16: (10, 17),
    types.PositionEncodingKind.Utf32: (9, 16),
}
HERE = Span("m.py", 2, 10, 2, 17)


def places(text: str = TEXT, kind: types.PositionEncodingKind = types.PositionEncodingKind.Utf16) -> Places:
    return Places(text, PositionCodec(kind))


def finding(**changes: object) -> Finding:
    whole = {"code": "ONX101", "rule": "tensor-branch", "severity": Severity.ERROR, "message": "`if`", "span": HERE}
    return Finding(**whole | changes)  # type: ignore[arg-type]


def uri(path: str) -> str:
    return f"file:///w/{path}"


@pytest.mark.parametrize("kind", UNITS)
def test_columns_are_counted_as_the_editor_counts_them_and_back(kind: types.PositionEncodingKind) -> None:
    made = places(kind=kind)
    where = made.range(HERE)
    assert (where.start.line, where.end.line) == (1, 1)
    assert (where.start.character, where.end.character) == UNITS[kind]
    assert [made.column(where.start), made.column(where.end)] == [10, 17]


def test_a_place_behind_the_text_is_its_end() -> None:
    assert places("a\nbc").position(99, 99) == types.Position(1, 2)
    assert places("").position(1, 1) == places("").position(5, 3) == types.Position(0, 0)
    assert places("ab\r\ncd").position(1, 99) == types.Position(0, 2), "the line's end is no column"


def test_an_edit_has_the_line_ends_of_the_text() -> None:
    edit = places().edit(Edit("m.py", (2, 10), (2, 17), "a\nb"), "\r\n")
    assert edit.new_text == "a\r\nb"
    assert edit.range == places().range(HERE)


def test_a_finding_tells_its_rule_its_effects_and_how_the_value_came_there() -> None:
    told = finding(
        effects={"torchscript": Outcome.WRONG_VALUES},
        trace=(Step("größe.py", 7, "`x` is an input"), Step("m.py", 0, "odd")),
    )
    made = diagnostic(told, places(), uri)
    assert made.range == places().range(HERE)
    assert (made.code, made.source, made.severity) == ("ONX101", "onnxlint", types.DiagnosticSeverity.Error)
    assert made.message == "`if`\nTorchScript (expected): exports, wrong values on other inputs"
    assert made.code_description is not None
    assert "ONX101" in made.code_description.href
    related = made.related_information or []
    assert [(one.location.uri, one.location.range.start.line, one.message) for one in related] == [
        ("file:///w/größe.py", 6, "`x` is an input"),
        ("file:///w/m.py", 0, "odd"),
    ]
    assert diagnostic(finding(code="ONX999"), places(), uri).code_description is None


def test_what_was_observed_is_told_and_what_was_observed_of_an_older_text_as_such() -> None:
    seen = Evidence("M", "dynamo", Cause.REFUSED, Outcome.EXPORT_ERROR, (Location("m.py", 3),), "guard on\nu0")
    proved = finding(verdict=VerdictKind.CONFIRMED, evidence=(seen,))
    made = diagnostic(proved, places(), uri)
    assert made.message == "`if`\nconfirmed\ndynamo: refuses to export (M)"
    assert [one.message for one in made.related_information or []] == ["dynamo: guard on u0"]
    stale = diagnostic(finding(), places(), uri, proved)
    assert stale.message.splitlines()[-1].startswith("confirmed before the last change")


@pytest.mark.parametrize(
    ("line", "where"),
    [(3, ((2, 1), (2, 6))), (None, ((0, 0), (0, 5))), (99, ((3, 0), (3, 0)))],
)
def test_a_fault_of_a_file_marks_the_code_of_its_line(
    line: int | None, where: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    made = fault(Diagnostic("error", "does not\nparse", "m.py", line), places())
    assert made.range == types.Range(*(types.Position(*place) for place in where))
    assert made.message == "does not parse"
    assert fault(Diagnostic("warning", "x"), places()).severity == types.DiagnosticSeverity.Warning


def test_what_touches_a_range_is_at_it() -> None:
    other = finding(span=Span("m.py", 3, 2, 3, 7))
    both = [finding(), other]

    def found(line: int, first: int, last: int) -> list[Finding]:
        return at(both, types.Range(types.Position(line, first), types.Position(line, last)), places())

    assert found(1, 10, 10) == found(1, 17, 17) == [both[0]]
    assert found(1, 0, 9) == found(1, 18, 30) == []
    assert at(both, types.Range(types.Position(0, 0), types.Position(9, 0)), places()) == both


def test_a_uri_is_a_path_where_it_is_one() -> None:
    assert to_path("file:///w/a%20b/gr%C3%B6%C3%9Fe.py") == "/w/a b/größe.py"
    assert to_path("file:///w/a%00.py") is None
    assert not to_path("untitled:Untitled-1")
