"""Edits: places, overlaps, newlines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.base.edits import Lines, apply_edits, choose, newline_of, whole_word, with_word, written_lines
from onnxlint.base.records import Edit, Finding, Fix, Safety, Severity, Span


def finding(*edits: Edit, code: str = "ONX101", text: str = "") -> Finding:
    first = edits[0]
    span = Span(first.path, *first.start, *first.end)
    return Finding(code, "rule", Severity.ERROR, "fault", span, fix=Fix("fix", Safety.SAFE, edits), text=text)


def edit(start: tuple[int, int], end: tuple[int, int], text: str, path: str = "m.py") -> Edit:
    return Edit(path, start, end, text)


@given(st.text(alphabet="ab\n\r\u00e9\f", max_size=40))
def test_offsets_and_places_are_each_other_s_inverse(text: str) -> None:
    lines = Lines(text)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # within a newline there is no place
        assert lines.offset(lines.place(offset)) == offset


@pytest.mark.parametrize("place", [(0, 1), (1, 0), (3, 1), (1, 9)])
def test_a_place_outside_of_the_text_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="line"):
        Lines("one\ntwo").offset(place)


def test_what_is_written_takes_the_newlines_of_the_file() -> None:
    assert apply_edits("a\r\nb\r\n", [edit((2, 1), (2, 2), "x\ny")]) == "a\r\nx\r\ny\r\n"
    assert newline_of("") == "\n"


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abcd", [edit((1, 1), (1, 3), "x"), edit((1, 2), (1, 4), "y")])


def test_the_first_in_the_source_wins_and_the_other_waits() -> None:
    outer = finding(edit((1, 1), (1, 9), "x"), code="ONX102")
    inner = finding(edit((1, 3), (1, 5), "y"))
    beside = finding(edit((1, 9), (1, 10), "z"), code="ONX103")
    assert choose([inner, beside, outer], {"m.py": "0123456789"}) == (outer, beside)


def test_fixes_of_one_node_and_of_nodes_within_each_other_wait() -> None:
    call, last, beside = ((1, 1), (1, 8)), ((1, 6), (1, 7)), ((1, 9), (1, 10))
    renamed = finding(Edit("m.py", (1, 1), (1, 2), "g", call), text="1")
    added = finding(Edit("m.py", (1, 7), (1, 7), ", c", call), text="2")
    inner = finding(Edit("m.py", (1, 6), (1, 7), "x", last), text="3")
    neighbour = finding(Edit("m.py", (1, 9), (1, 10), "y", beside), text="4")
    assert choose([neighbour, inner, added, renamed], {"m.py": "f(a, b) c"}) == (renamed, neighbour)
    shared = finding(Edit("m.py", (1, 1), (1, 2), "g", call), Edit("m.py", (1, 9), (1, 10), "z", beside), text="5")
    assert choose([renamed, shared], {"m.py": "f(a, b) c"}) == (renamed, shared)


def test_an_equal_edit_is_shared() -> None:
    both = edit((1, 1), (1, 1), "import torch\n")
    one = finding(both, edit((2, 1), (2, 2), "x"), text="one")
    other = finding(both, edit((3, 1), (3, 2), "y"), text="other")
    assert choose([one, other], {"m.py": "\na\nb\n"}) == (one, other)
    edits = [e for f in (one, other) if f.fix is not None for e in f.fix.edits]
    assert apply_edits("\na\nb\n", edits) == "import torch\n\nx\ny\n"


def test_two_insertions_at_one_place_are_not_made_together() -> None:
    one = finding(edit((1, 2), (1, 2), "x"), text="one")
    other = finding(edit((1, 2), (1, 2), "y"), text="other")
    assert len(choose([one, other], {"m.py": "ab"})) == 1


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from(["", "x", "y\nz"])), max_size=8))
def test_chosen_edits_always_apply(wanted: list[tuple[int, int, str]]) -> None:
    text = "abcdefghi\njklmnopqrs\ntuvwxyz012"
    lines = Lines(text)
    findings = [
        finding(Edit("m.py", lines.place(at), lines.place(min(at + size, len(text))), new), text=str(number))
        for number, (at, size, new) in enumerate(wanted)
    ]
    chosen = choose(findings, {"m.py": text})
    assert choose(list(reversed(findings)), {"m.py": text}) == chosen
    edits = [e for f in chosen if f.fix is not None for e in f.fix.edits]
    after = apply_edits(text, edits)
    for (low, high), e in zip(written_lines(edits), edits, strict=True):
        rows = after.split("\n")[low - 1 : high]
        assert e.text.strip("\n") in "\n".join(rows)


@given(st.text("ab_ .\n", max_size=30), st.text("ab_", min_size=1, max_size=3))
@settings(max_examples=500)
def test_a_whole_word_is_no_part_of_another(text: str, name: str) -> None:
    expected = re.sub(rf"\b{name}\b", "|", text)
    assert re.sub(whole_word(name), "|", text) == with_word(text, name, "|") == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_rows_end_without_their_newline(newline: str) -> None:
    lines = Lines(newline.join(("a", "", "b", "")))
    assert [lines.rows(n, n) for n in range(1, 5)] == ["a", "", "b", ""]
    assert lines.rows(1, 3) == "a\n\nb"
    assert lines.rows(1, 4) == "a\n\nb\n"
