"""The arguments of calls, added, dropped and replaced in every layout."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.helpers.call_edits import add_argument, drop_argument, set_argument

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


def changed(source: str, change: Callable[[cst.Call], cst.Call | None]) -> str | None:
    """The text after a change of its first call; None where the change refuses."""
    site = site_at(source, "f")
    call = next(n for n in walk(site.tree.module) if isinstance(n, cst.Call))
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


@pytest.mark.parametrize("source", ["((f(x)))", "(\n  f(x)\n)"])
def test_a_call_in_parentheses_keeps_them(source: str) -> None:
    after = changed(source, lambda call: add_argument(call, "k", cst.Integer("1")))
    assert after == source.replace("x", "x, k=1")
