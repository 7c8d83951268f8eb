"""What of an earlier analysis still holds after a change: the lines decide."""

from __future__ import annotations

from onnxlint.base.records import Finding, Fix, Safety, Severity, Span, Step
from onnxlint.integrations.server.document_state import View, carried, lines_of, merged

TEXT = "a\nb\nc\nd\ne\n"


def finding(code: str, line: int, last: int = 0) -> Finding:
    return Finding(
        code,
        code.lower(),
        Severity.ERROR,
        "told",
        Span("m.py", line, 1, last or line, 2),
        trace=(Step("m.py", line, "here"), Step("other.py", 1, "there")),
        fix=Fix("mend", Safety.SAFE),
        text=f"{code} {TEXT[2 * (line - 1)]}",
    )


def places(findings: tuple[Finding, ...]) -> list[tuple[str, int]]:
    return [(f.code, f.span.line) for f in findings]


def test_findings_follow_their_lines() -> None:
    view = View(TEXT, (finding("ONX1", 1), finding("ONX3", 3), finding("ONX5", 5)))
    assert carried(view, TEXT) == view.findings
    after = carried(view, "a\nb\nnew\nnewer\nd\ne\n")
    assert places(after) == [("ONX1", 1), ("ONX5", 6)]
    assert [step.line for step in after[1].trace] == [6, 1]
    assert after[1].fix is None
    assert places(carried(view, "a\nb\nc\nd\n")) == [("ONX1", 1), ("ONX3", 3)]


def test_a_finding_goes_when_any_of_its_lines_changes() -> None:
    view = View(TEXT, (finding("ONX1", 2, 4),))
    assert carried(view, TEXT.replace("c", "x")) == ()
    assert places(carried(view, TEXT.replace("e", "x"))) == [("ONX1", 2)]
    assert places(carried(view, "new\n" + TEXT)) == [("ONX1", 3)]


def test_a_form_feed_ends_no_line() -> None:
    assert lines_of("a\x0cb\u2028c\r\nd\re") == ["a\x0cb\u2028c", "d", "e"]


def test_what_other_files_add_and_clear_holds_on_unchanged_lines() -> None:
    alone = View(TEXT, (finding("ONX1", 1), finding("ONX2", 2)))
    whole = View(TEXT, (finding("ONX2", 2), finding("ONX4", 4)))  # it clears the first, and adds one
    text = TEXT + "f\n"
    now = (finding("ONX1", 1), finding("ONX2", 2))
    assert places(merged(now, alone, whole, text)) == [("ONX2", 2), ("ONX4", 4)]
    text = TEXT.replace("a", "x").replace("d", "y")  # both lines are others now
    assert places(merged(now, alone, whole, text)) == [("ONX1", 1), ("ONX2", 2)]


def test_without_a_pair_of_one_text_a_file_speaks_for_itself() -> None:
    now = (finding("ONX1", 1),)
    assert merged(now, None, View(TEXT, ()), TEXT) == now
    assert merged(now, View(TEXT, now), None, TEXT) == now
    assert merged(now, View(TEXT, now), View("other", ()), TEXT) == now
