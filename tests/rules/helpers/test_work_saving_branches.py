"""Branches that only save work, and guards around what is to stay out of the export."""

from __future__ import annotations

import textwrap

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Fix, Safety
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.work_saving_branches import (
    branch_of,
    only_assignment,
    under_guard,
    without_guard,
    without_question,
)


def site_in(body: str, part: str) -> Site:
    return site_at("def f(x, y, groups):\n" + textwrap.indent(body, "    "), part)


def after(site: Site, fix: Fix | None) -> str | None:
    if fix is None:
        return None
    return textwrap.dedent(apply_edits(site.page.text, list(fix.edits)).split("\n", 1)[1])


def test_the_branch_of_a_test_is_that_whose_test_it_is() -> None:
    body = "if x:\n    pass\nelif y.any():\n    z = y.any()\n"
    site = site_in(body, "y.any()")
    branch = branch_of(site)
    assert isinstance(branch, cst.If)
    assert site.source(branch.test) == "x", "an `elif` is part of the `if` above it"
    assert branch_of(site_in("z = y.any()\n", "y.any()")) is None
    assert isinstance(branch_of(site_in("z = 1 if y.any() else 2\n", "y.any()")), cst.IfExp)


def test_the_body_of_a_branch_takes_its_place_with_the_comments() -> None:
    site = site_in("if y.any():  # why\n    x = x + y\n    x = \\\n        -x\nreturn x\n", "y.any()")
    branch = branch_of(site)
    assert isinstance(branch, cst.If)
    fix = without_question(site, branch, "leave out", Safety.UNSAFE)
    assert fix is not None
    assert fix.safety is Safety.UNSAFE
    assert after(site, fix) == "# why\nx = x + y\nx = \\\n    -x\nreturn x\n"


@pytest.mark.parametrize("body", ["if y.any():\n    x = y\nelse:\n    x = x\n", "if y.any(): x = y\n"])
def test_a_branch_with_an_alternative_or_in_one_line_stays(body: str) -> None:
    site = site_in(body, "y.any()")
    branch = branch_of(site)
    assert isinstance(branch, cst.If)
    assert without_question(site, branch, "leave out", Safety.UNSAFE) is None


def test_a_statement_is_put_under_a_guard_of_its_own() -> None:
    site = site_in("# above\nlog(\n    x,\n)  # beside\nreturn x\n", "log(\n        x,\n    )")
    (call,) = site.inside(cst.Call)
    statement = site.statement(call)
    assert statement is not None
    assert after(site, under_guard(site, statement, "not exporting()", "guard")) == (
        "# above\nif not exporting():\n    log(\n        x,\n    )  # beside\nreturn x\n"
    )
    site = site_in("log(x); y = x\n", "log(x)")
    (call,) = site.inside(cst.Call)
    statement = site.statement(call)
    assert statement is not None
    assert under_guard(site, statement, "not exporting()", "guard") is None


@pytest.mark.parametrize(
    ("test", "goes"),
    [("len(rows) == 0", True), ("rows.shape[0] < 1", True), ("rows.numel() == 1", False), ("rows.any()", False)],
)
def test_a_test_for_an_empty_selection_goes(test: str, goes: bool) -> None:
    site = site_in(f"for rows in groups:\n    if {test}:\n        continue\n    x = x + rows\n", test)
    branch = branch_of(site)
    assert branch is not None
    left = "for rows in groups:\n    x = x + rows\n" if goes else None
    assert after(site, without_guard(site, branch)) == left


def test_the_one_assignment_of_a_branch() -> None:
    assert only_assignment(cst.parse_statement("if x:\n    y = 1\n")) is not None
    for text in ("if x:\n    y = z = 1\n", "if x:\n    y = 1\n    z = 1\n", "y = 1\n"):
        assert only_assignment(cst.parse_statement(text)) is None
