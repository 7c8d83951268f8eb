"""Edits: places, overlaps, newlines; and the arguments of calls, in every layout."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.base.edits import Lines, apply_edits, choose, newline_of, written_lines
from onnxlint.base.records import Edit, Finding, Fix, Safety, Severity, Span
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.site import Site
from onnxlint.rules.engine.source_page import Page
from onnxlint.rules.helpers.call_edits import add_argument, drop_argument, set_argument


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


CALLS = {
    "one line": ("f(a, b)", "f(a, b, k=1)"),
    "no argument": ("f()", "f(k=1)"),
    "a comma at the end": ("f(a,)", "f(a, k=1)"),
    "its own lines": ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
    "no comma on the last line": ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
    "a comment behind the last": ("f(\n    a,\n    b,  # why\n)", "f(\n    a,\n    b,  # why\n    k=1,\n)"),
    "a comment and no comma": ("f(\n    a  # why, (so)\n)", "f(\n    a,  # why, (so)\n    k=1,\n)"),
    "an argument in parentheses": ("f((a), (b))", "f((a), (b), k=1)"),
    "a generator": ("f(x for x in y)", None),
}


def site_of(source: str) -> tuple[Site, cst.Call]:
    page = Page("m.py", source)
    site = Site(Finding("ONX101", "rule", Severity.ERROR, "fault", Span("m.py", 1, 1, 1, 1)), page)
    return site, next(n for n in walk(site.tree.module) if isinstance(n, cst.Call))


def changed(source: str, change: Callable[[cst.Call], cst.Call | None]) -> str | None:
    """The text after a change of its first call; None where the change refuses."""
    site, call = site_of(source)
    new = change(call)
    return None if new is None else apply_edits(source, [site.replace(call, new)])


@pytest.mark.parametrize("layout", CALLS)
def test_an_argument_is_added_as_the_call_is_laid_out(layout: str) -> None:
    before, after = CALLS[layout]
    assert changed(before, lambda call: add_argument(call, "k", cst.Integer("1"))) == after


@pytest.mark.parametrize("layout", CALLS)
def test_an_argument_is_added_within_a_block_and_with_the_newlines_of_the_file(layout: str) -> None:
    before, after = (
        text and f"class C:\n  def m(self):\n    return {text}\n".replace("\n", "\r\n") for text in CALLS[layout]
    )
    assert changed(before or "", lambda call: add_argument(call, "k", cst.Integer("1"))) == after


DROPPED = {
    "the last": ("f(a, k=1)", "f(a)"),
    "the only one": ("f(k=1)", "f()"),
    "one in the middle": ("f(a, k=1, b=2)", "f(a, b=2)"),
    "a line of its own": ("f(\n    a,\n    k=1,  # gone too\n    b=2,\n)", "f(\n    a,\n    b=2,\n)"),
    "the last line": ("f(\n    a,\n    k=g(1, 2),\n)", "f(\n    a,\n)"),
    "not given": ("f(a)", None),
    "at the end of a row": ("f(\n    a, k=1,  # why a\n    b=2,\n)", "f(\n    a,  # why a\n    b=2,\n)"),
    "behind a comment": ("f(\n    a,  # why a\n    k=1)", "f(\n    a  # why a\n    )"),
}


@pytest.mark.parametrize("layout", DROPPED)
def test_an_argument_is_dropped_with_its_comma(layout: str) -> None:
    before, after = DROPPED[layout]
    assert changed(before, lambda call: drop_argument(call, "k")) == after


def test_an_argument_that_is_given_is_replaced_where_it_stands() -> None:
    value = cst.parse_expression("self.training")
    after = changed("f(a, 0.1, True)", lambda call: set_argument(call, "training", value, position=2))
    assert after == "f(a, 0.1, self.training)"


@pytest.mark.parametrize("source", ["f(*a)", "f(a, **k)"])
def test_nothing_is_added_where_it_may_be_given_already(source: str) -> None:
    assert changed(source, lambda call: set_argument(call, "training", cst.Name("True"), position=2)) is None


@pytest.mark.parametrize(("source", "after"), [("f((a, b))", "f(c)"), ("f(((a, b)))", "f(c)"), ("f(((a)))", "f(c)")])
def test_a_whole_argument_is_replaced_with_its_own_parentheses_alone(source: str, after: str) -> None:
    site, call = site_of(source)
    assert apply_edits(source, [site.replace_whole(call.args[0].value, cst.Name("c"))]) == after
    assert apply_edits(source, [site.replace(call, call.with_changes(func=cst.Name("g")))]) == source.replace("f", "g")


@pytest.mark.parametrize("source", ["((f(x)))", "(\n  f(x)\n)"])
def test_a_call_in_parentheses_keeps_them(source: str) -> None:
    after = changed(source, lambda call: add_argument(call, "k", cst.Integer("1")))
    assert after == source.replace("x", "x, k=1")
