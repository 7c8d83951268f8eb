"""What holds for every format that other programs read: texts and paths from outside break none of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import report_samples as samples
from format_readers import as_gitlab, as_json, as_junit, as_rdjson, as_sarif, machine, placed
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onnxlint.base.records import Evidence, Finding, Fix, Report, Severity, Span, Step, VerdictKind
from onnxlint.report import FORMATS, render

anything = st.text(max_size=20)
odd = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates as well


@settings(max_examples=150, deadline=None)
@given(odd, anything, odd, odd, st.floats(), st.sampled_from(FORMATS))
@example("\ufffe\U0001ffff\ufdd0", "\uffff", "\uffff", "\uffff", 1.0, "junit")
def test_no_text_from_outside_breaks_a_format(
    message: str, path: str, symbol: str, detail: str, size: float, format: str
) -> None:
    seen: Evidence = dataclasses.replace(samples.UNEXPLAINED.evidence[0], detail=detail, variation=detail, max_abs=size)
    finding: Finding = dataclasses.replace(
        samples.UNEXPLAINED,
        message=message,
        span=dataclasses.replace(samples.UNEXPLAINED.span, path=path or "m.py"),
        symbol=symbol,
        trace=(Step(path or "m.py", 1, message),),
        fix=Fix(message),
        evidence=(seen,),
    )
    report = Report(findings=(finding,), files=1)
    page = machine(report, format)
    page.encode()
    readers: dict[str, Callable[[Report], object]] = {
        **{"json": as_json, "sarif": as_sarif, "rdjson": as_rdjson, "gitlab": as_gitlab, "junit": as_junit}
    }
    if format in readers:
        readers[format](report)
    else:
        assert page.endswith("no model probed; 0.0 s\n")
        assert "\x1b" not in page
        assert "\r" not in page


SPACED = "a  b\t%0A: ,\u00fc.py"


def test_a_path_is_the_name_of_the_file_whatever_is_in_it() -> None:
    assert as_gitlab(placed(SPACED))[0]["location"]["path"] == SPACED
    assert as_rdjson(placed(SPACED))[0]["location"]["path"] == SPACED
    assert as_gitlab(placed("a\udcff.py"))[0]["location"]["path"] == "a\\udcff.py"
    assert machine(placed("a  b.py"), "concise").startswith("a  b.py:3:1: ONX101 ")
    assert "--> a  b.py:3:1" in machine(placed("a  b.py"), "full")


def test_no_path_is_a_command_of_a_log_on_github() -> None:
    path = "::error file=x,line=1::forged.py"
    for format in ("concise", "full"):
        assert not re.search(r"^\s*::", machine(placed(path), format), re.MULTILINE)
    assert machine(placed(path), "concise").startswith(f"./{path}:3:1: ")


@pytest.mark.parametrize(("format", "variable"), [("github", "GITHUB_WORKSPACE"), ("gitlab", "CI_PROJECT_DIR")])
def test_a_path_begins_at_the_checkout(
    format: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages/a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "packages/a")
    monkeypatch.setenv(variable, str(tmp_path))
    path = "packages/a/src/m.py"
    assert path in machine(placed("src/m.py"), format)
    assert path in machine(placed(str(tmp_path / path)), format)
    far = machine(placed("/opt/m.py"), format)
    assert "/opt/m.py" in far
    assert "../" not in far
    if format == "github":
        (result,) = as_sarif(placed("src/m.py"))["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == path
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert path not in machine(placed("src/m.py"), format)


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
