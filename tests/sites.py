"""A place in some source, as the fix of a rule sees it."""

from __future__ import annotations

from onnxlint.base.records import Finding, Severity, Span
from onnxlint.rules.engine.site import Site
from onnxlint.rules.engine.source_page import Page

PATH = "model.py"


def site_at(text: str, part: str, **values: str) -> Site:
    """The site of a finding at the first occurrence of `part`; `values` are what the dataflow knew of variables."""
    page = Page(PATH, text)
    start = text.index(part)
    span = Span(PATH, *page.lines.place(start), *page.lines.place(start + len(part)))
    hints = {f"${name}": kind for name, kind in values.items()}
    finding = Finding("ONX101", "rule", Severity.ERROR, "fault", span, statement=span.line, hints=hints)
    return Site(finding, page)
