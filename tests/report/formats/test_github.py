"""GitHub's commands parse back, and the worst stand first."""

from __future__ import annotations

import dataclasses
import re

import report_samples as samples
from format_readers import REPORTS, machine

from onnxlint.base.records import Diagnostic, Report, Span

COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")


def unescape(text: str) -> str:
    for code, char in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@REPORTS
def test_github_commands_parse_back(name: str) -> None:
    report = samples.REPORTS[name]
    *commands, last = machine(report, "github").splitlines()
    assert not last.startswith("::")
    for command in commands:
        parsed = COMMAND.fullmatch(command)
        assert parsed is not None
        fields = dict(field.split("=", 1) for field in parsed[2].split(","))
        assert set(fields) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert parsed[3]
    assert len(commands) >= len(report.findings) + len(report.diagnostics)


def test_github_escapes_what_would_end_a_field() -> None:
    path = "a,b:c%.py"
    odd = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path=path))
    command = machine(Report(findings=(odd,)), "github").splitlines()[0]
    parsed = COMMAND.fullmatch(command)
    assert parsed is not None
    assert unescape(dict(field.split("=", 1) for field in parsed[2].split(","))["file"]) == path


def test_github_shows_the_worst_and_says_that_it_does_not_show_all() -> None:
    mild = [dataclasses.replace(samples.SUSPECTED, span=Span(f"a{i}.py", 1, 1, 1, 2)) for i in range(12)]
    worst = dataclasses.replace(samples.CONFIRMED, span=Span("z.py", 1, 1, 1, 2))
    fault = Diagnostic("error", "the file does not parse", "zz.py", 1)
    first, *rest = machine(Report((*mild, worst), diagnostics=(fault,)), "github").splitlines()
    assert (
        first
        == "::notice title=onnxlint::GitHub shows 10 errors and 10 warnings of a step; all 14 lines are in its log."
    )
    assert ["file=zz.py" in line for line in rest[:2]] == [True, False]
    assert "file=z.py" in rest[1]
    few = machine(Report(tuple(mild[:10])), "github")
    assert "GitHub shows" not in few


def fields_of(line: str) -> dict[str, str]:
    parsed = COMMAND.fullmatch(line)
    assert parsed is not None
    return {"": parsed[1]} | {key: unescape(value) for key, value in (f.split("=", 1) for f in parsed[2].split(","))}


def test_columns_are_told_of_a_part_of_one_line_alone() -> None:
    def told(span: Span) -> dict[str, str]:
        return fields_of(
            machine(Report((dataclasses.replace(samples.SUSPECTED, span=span),)), "github").splitlines()[0]
        )

    assert told(Span("a b.py", 3, 5, 3, 9)) == {
        "": "warning",
        "file": "a b.py",
        "line": "3",
        "endLine": "3",
        "col": "5",
        "endColumn": "8",
        "title": "ONX201 literal-batch (suspected)",
    }
    for span in (Span("m.py", 3, 5, 4, 9), Span("m.py", 3, 5, 3, 5)):
        assert not {"col", "endColumn"} & told(span).keys()
    assert told(Span("m.py", 3, 5, 4, 9))["endLine"] == "4"


def test_what_went_wrong_with_the_run_comes_first_and_what_was_not_probed_late() -> None:
    faults = (Diagnostic("warning", "no torch"), Diagnostic("error", "does\nnot parse", "größe.py", 3))
    models = (samples.UNPROBED, samples.GOOD, *samples.REPORTS["failures"].models)
    *lines, _ = machine(Report((samples.NOTE,), models, faults), "github").splitlines()
    kinds = [fields_of(line)[""] for line in lines]
    assert kinds == ["error", "error", "error", "notice", "notice", "warning"]
    assert lines[0] == "::error file=größe.py,line=3,title=onnxlint::does not parse"
    assert "ONX205" in lines[3]
    assert "src.models.wide:Wide was not probed" in lines[4]
    assert lines[5] == "::warning title=onnxlint::no torch"
