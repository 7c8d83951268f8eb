"""A fix first sees its statement alone, and the function around it only where it asks for that."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from onnxlint.base.edits import Lines
from onnxlint.base.records import Finding, Safety, Severity, Span
from onnxlint.config.settings import Settings
from onnxlint.rules.engine.cst_tree import BeyondStatement, walk
from onnxlint.rules.engine.site import Site
from onnxlint.rules.engine.source_page import Page
from onnxlint.run.pipeline import run_check

STATEMENTS = {
    "simple": "a = f(x)",
    "brackets": "a = g(\n        f(x),\n    )",
    "comment to the left": "a = g(  # why\n# here\n        f(x)\n    )[\n        0\n    ]",
    "string": "a = g('''\n      b\n     ''', f(x))",
    "several in a line": "a = 1; b = f(x)",
    "arms": "if f(x):\n        a = 1\n# comment\n\n    elif y:\n        a = 2\n    else:\n        a = 3",
    "nested": "for a in f(x):\n        if a:\n            b = '''\n        c'''\n        d = 1",
    "handlers": "try: f(x)\n    except E:\n        pass\n    finally:\n        pass",
    "match": "match f(x):\n        case 1:\n            pass",
}
UNSEEN = {
    "scope": "@f(x)\n    def g():\n        pass",
    "string to the left": "a = g('''\nb\n''', f(x))",
    "item to the left": "a = g(\n    f(x),\n    )",
    "backslash": "a = \\\n    f(x)",
}


def sites(statement: str, newline: str = "\n", shift: int = 0) -> tuple[Site, Site]:
    """A call in a method, in its statement alone and in its whole method."""
    head = "class C:\n  def m(self):\n    b = 0\n"
    text = f"{head}    {statement}\n    # comment\n    return 1\n".replace("\n", newline)
    at = text.index("f(x)")
    (line, column), first = Lines(text).place(at), head.count("\n") + 1 + shift
    span = Span("m.py", line, column, line, column + 4)
    finding = Finding("ONX101", "rule", Severity.ERROR, "fault", span, statement=first)
    return Site(finding, Page("m.py", text), whole=False), Site(finding, Page("m.py", text))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_the_same_alone_and_in_its_function(name: str, newline: str) -> None:
    alone, whole = sites(STATEMENTS[name], newline)
    chains = []
    for site in (alone, whole):
        call = site.at_span(cst.Call)
        assert call is not None
        statement = site.statement(call)
        assert statement is not None
        places = [(type(node), site.tree.range(node)) for node in walk(statement)]
        edit = site.replace(call, site.expression("g(\n    {call})", call=call))
        chains.append((type(site.parent(call)), places, site.fix("try", Safety.SAFE, edit)))
    assert chains[0] == chains[1]


@pytest.mark.parametrize("name", UNSEEN)
def test_what_is_not_seen_at_once_to_be_a_statement_is_none(name: str) -> None:
    alone, whole = sites(UNSEEN[name])
    with pytest.raises(BeyondStatement):
        alone.at_span(cst.Call)
    assert whole.at_span(cst.Call) is not None


@pytest.mark.parametrize(("name", "shift"), [("simple", -1), ("simple", -4), ("brackets", 2), ("arms", 4)])
def test_a_line_that_is_not_of_its_statement_is_none(name: str, shift: int) -> None:
    with pytest.raises(BeyondStatement):
        sites(STATEMENTS[name], shift=shift)[0].at_span(cst.Name)


@pytest.mark.parametrize("name", ["simple", "arms", "several in a line"])
def test_a_statement_alone_does_not_tell_what_is_around_it(name: str) -> None:
    site, _ = sites(STATEMENTS[name])
    call = site.at_span(cst.Call)
    assert call is not None
    statement = site.statement(call)
    assert statement is not None
    asked = [
        lambda: list(site.around(call)),
        lambda: site.function(call),
        lambda: site.block(statement),
        lambda: site.insert_before(statement, cst.Pass()) and site.tree.module,
        lambda: site.tree.holding(site.start),
        lambda: site.tree.code(cst.If(cst.Name("a"), cst.IndentedBlock([])), statement),
    ]
    for ask in asked:
        with pytest.raises(BeyondStatement):
            ask()


def test_a_fix_that_its_statement_refuses_does_not_parse_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(page: Page, line: int) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Page, "region", fails)
    model = (
        "from torch import nn\n\n\nclass M(nn.Module):\n    def forward(self, x):\n        return x[int(x.sum()) :]\n"
    )
    (tmp_path / "model.py").write_text(model.replace("x[int(x.sum()) :]", "x * round(x.sum().item())"))
    report = run_check([tmp_path], Settings(root=tmp_path, static_only=True, cache=False))
    assert report.diagnostics == ()
    assert [(f.code, f.fix is not None and f.fix.edits) for f in report.findings] == [("ONX401", ())]
