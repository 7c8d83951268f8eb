"""The full text: what a person reads first, and links where the terminal takes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import report_samples as samples

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Finding, Report, Severity, Span
from onnxlint.report import FORMATS, render

LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\", re.DOTALL)
CODES = {f.code for f in samples.REPORTS["whole"].findings}


def page(format: str, *, color: bool, links: bool) -> str:
    return render(
        samples.REPORTS["whole"],
        format,
        color=color,
        width=100,
        show_all=True,
        sources=samples.sources,
        catalogue=load_catalogue(),
        links=links,
    )


def test_codes_lead_to_the_contracts() -> None:
    found = LINK.findall(page("full", color=True, links=True))
    told = {re.sub(r"\x1b\[[0-9;]*m", "", text): uri for uri, text in found}
    assert set(told) == CODES & set(load_catalogue())
    for code, uri in told.items():
        assert uri.startswith("file:///")
        assert Path(uri.removeprefix("file://")).name.startswith(f"{code}-")
        assert Path(uri.removeprefix("file://")).is_file()


def test_a_link_changes_nothing_but_the_link() -> None:
    assert LINK.sub(r"\2", page("full", color=True, links=True)).count("ONX") == page(
        "full", color=True, links=False
    ).count("ONX")
    assert "\x1b]8" not in page("full", color=True, links=False)


@pytest.mark.parametrize("format", FORMATS)
def test_what_has_no_colour_has_no_links(format: str) -> None:
    assert "\x1b" not in page(format, color=False, links=True)


def test_files_of_what_is_exported_come_before_others_as_bad() -> None:
    exported = {"a.py": False, "b.py": True, "c.py": False, "d.py": True}
    findings = [
        Finding("ONX101", "tensor-branch", severity, f"in {path}", Span(path, 1, 1, 1, 2), exported=exported[path])
        for path, severity in zip(exported, [*[Severity.WARNING] * 3, Severity.ERROR], strict=True)
    ]
    report = Report(findings=tuple(findings), files=4)
    page = render(report, "full", color=False, width=90, show_all=True, sources=None, catalogue=samples.catalogue())
    assert re.findall(r"in ([a-d])\.py", page) == ["d", "b", "a", "c"]
