"""One line for each finding, as an editor's problem matcher reads it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import report_samples as samples
from format_readers import REPORTS, machine

from onnxlint.base.records import Diagnostic, Report, Span, VerdictKind
from onnxlint.report.formats.concise import concise

ROOT = Path(__file__).resolve().parents[3]


@REPORTS
def test_concise_lines_match_an_editors_pattern(name: str) -> None:
    report = samples.REPORTS[name]
    pattern = re.compile(
        r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<code>ONX\d{3}) (?P<message>.+) \[(?P<v>[a-z-]+)\]"
    )
    matched = [m for line in machine(report, "concise").splitlines() if (m := pattern.fullmatch(line))]
    assert len(matched) == len(report.findings)
    assert {m["v"] for m in matched} <= set(VerdictKind)


def test_the_problem_matcher_of_the_readme_parses_every_place() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (matcher,) = [json.loads(b)["tasks"][0]["problemMatcher"] for b in blocks if "problemMatcher" in b]
    pattern = matcher["pattern"]
    regexp = re.compile(pattern["regexp"])
    lines = machine(samples.REPORTS["whole"], "concise").splitlines()
    placed = [line for line in lines if re.match(r"\S+:\d+:", line)]
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
    assert not [line for line in lines if line and line not in placed and regexp.match(line)]


def test_a_line_says_where_what_and_how_sure_and_what_else() -> None:
    finding = dataclasses.replace(
        samples.SUSPECTED,
        span=Span("two words/größe.py", 3, 1, 3, 5),
        also=(Span("two words/größe.py", 9, 1, 9, 2),),
        outside="a test\nof it",
    )
    faults = (Diagnostic("error", "does not parse", "b.py", 7), Diagnostic("warning", "torch is not installed"))
    lines = concise(Report((finding,), (samples.UNPROBED,), faults), Report((finding,)), show_all=False).splitlines()
    assert lines[:4] == [
        "two words/größe.py:3:1: ONX201 `view` fixes the dynamic first dimension to 4; also at line 9 "
        "[suspected; a test of it]",
        "src/models/wide.py:1:1: note: src.models.wide:Wide was not probed: no example input is known for it",
        "b.py:7:1: error: does not parse",
        "warning: torch is not installed",
    ]
    assert lines[4].startswith("1 suspected in ")


def test_when_it_is_to_be_quiet_nothing_but_findings_failures_and_declared_models_is_left() -> None:
    declared = dataclasses.replace(samples.UNPROBED, name="m:Declared", declared=True)
    report = Report((samples.SUSPECTED,), (samples.UNPROBED, declared, *samples.REPORTS["failures"].models))
    lines = concise(report, report, show_all=False, quiet=True).splitlines()
    assert [line.split(": ")[1][:12] for line in lines] == ["ONX201 `view", "note", "error", "error"]
    assert "m:Declared" in lines[1]
    assert concise(Report(), Report(), show_all=False, quiet=True) == ""
