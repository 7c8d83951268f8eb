"""What a reader meets first: links, the last lines of a report, and lines that an editor can parse."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
import report_samples as samples

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Finding, Report, Severity, Span, VerdictKind
from onnxlint.report import FORMATS, render
from onnxlint.report.common import run_summary

ROOT = Path(__file__).resolve().parents[2]
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


def test_a_report_ends_with_what_can_be_done() -> None:
    whole = samples.REPORTS["whole"]
    assert run_summary.reproductions(whole, show_all=True).startswith(
        "1 confirmed finding has a reproduction: `onnxlint repro "
    )
    assert run_summary.reproductions(Report(), show_all=True) == ""
    suspected = tuple(dataclasses.replace(f, verdict=VerdictKind.SUSPECTED) for f in whole.findings)
    assert run_summary.reproductions(dataclasses.replace(whole, findings=suspected), show_all=True) == ""
    (proved,) = [f for f in whole.findings if any(e.repro for e in f.evidence)]
    moved = tuple(dataclasses.replace(e, repro="kept/else where/repro.py") for e in proved.evidence)
    told = run_summary.reproductions(Report(findings=(dataclasses.replace(proved, evidence=moved),)), show_all=False)
    assert told.endswith("`onnxlint repro 'else where' --repro-dir kept`")


def test_the_problem_matcher_of_the_readme_parses_every_place() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (matcher,) = [json.loads(b)["tasks"][0]["problemMatcher"] for b in blocks if "problemMatcher" in b]
    pattern = matcher["pattern"]
    regexp = re.compile(pattern["regexp"])
    placed = [line for line in page("concise", color=False, links=False).splitlines() if re.match(r"\S+:\d+:", line)]
    assert len(placed) >= len(samples.REPORTS["whole"].findings)
    parsed = [regexp.match(line) for line in placed]
    assert all(parsed)
    told = {
        (m[pattern["file"]], int(m[pattern["line"]]), int(m[pattern["column"]]), m[pattern["code"]])
        for m in parsed
        if m is not None and m[pattern["code"]]
    }
    assert told == {(f.span.path, f.span.line, f.span.column, f.code) for f in samples.REPORTS["whole"].findings}
    for line, match in zip(placed, parsed, strict=True):
        assert match is not None
        assert match[pattern["message"]]
        assert match[pattern["severity"]] in (None, "error", "warning", "note")
        assert match[pattern["severity"]] or match[pattern["code"]], line
    assert not [
        line
        for line in page("concise", color=False, links=False).splitlines()
        if line and line not in placed and regexp.match(line)
    ]


def test_files_of_what_is_exported_come_before_others_as_bad() -> None:
    exported = {"a.py": False, "b.py": True, "c.py": False, "d.py": True}
    findings = [
        Finding("ONX101", "tensor-branch", severity, f"in {path}", Span(path, 1, 1, 1, 2), exported=exported[path])
        for path, severity in zip(exported, [*[Severity.WARNING] * 3, Severity.ERROR], strict=True)
    ]
    report = Report(findings=tuple(findings), files=4)
    page = render(report, "full", color=False, width=90, show_all=True, sources=None, catalogue=samples.catalogue())
    assert re.findall(r"in ([a-d])\.py", page) == ["d", "b", "a", "c"]


@pytest.mark.parametrize("format", sorted({*FORMATS} - {"github"}))  # of which few are shown: the worst come first
def test_files_with_the_most_certain_findings_come_first_for_people_and_by_path_for_programs(format: str) -> None:
    """On the first screen stands what was confirmed; within a file the lines keep their order."""
    verdicts = {
        ("a.py", 1): VerdictKind.NOT_REPRODUCED,
        ("b.py", 1): VerdictKind.SUSPECTED,
        ("c.py", 1): VerdictKind.SUSPECTED,
        ("c.py", 2): VerdictKind.CONFIRMED,
        ("d.py", 1): VerdictKind.CONFIRMED,
        ("e.py", 1): VerdictKind.SUSPECTED,
    }
    findings = [
        Finding(
            "ONX101",
            "tensor-branch",
            Severity.ERROR,
            f"in {path} {line}",
            Span(path, line, 1, line, 2),
            verdict=verdict,
        )
        for (path, line), verdict in reversed(verdicts.items())
    ]
    report = Report(findings=tuple(findings), files=5)
    told = render(report, format, color=False, width=90, show_all=True, sources=None, catalogue=samples.catalogue())
    order = re.findall(r"in ([a-e])\.py ([12])", told)
    expected = ["c1", "c2", "d1", "b1", "e1", "a1"] if format == "full" else ["a1", "b1", "c1", "c2", "d1", "e1"]
    assert list(dict.fromkeys(map("".join, order))) == expected
