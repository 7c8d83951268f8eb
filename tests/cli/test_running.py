"""A run of a command that checks: its exit code, and where its report goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onnxlint.base.records import Diagnostic, Finding, ModelReport, ModelStatus, Report, Severity, Span, VerdictKind
from onnxlint.cli import main
from onnxlint.cli.running import exit_code

GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


def finding(severity: Severity = Severity.ERROR, verdict: VerdictKind = VerdictKind.SUSPECTED) -> Finding:
    return Finding("ONX101", "tensor-branch", severity, "m", Span("g.py", 1, 1, 1, 3), verdict=verdict)


NOT_PROBED = ModelReport("m:A", "m.py", 1, ModelStatus.NOT_PROBED, reason="no inputs", declared=True)


@pytest.mark.parametrize(
    ("report", "fail_on", "code"),
    [
        (Report(), "suspected", 0),
        (Report(findings=(finding(),)), "suspected", 1),
        (Report(findings=(finding(),)), "confirmed", 0),
        (Report(findings=(finding(Severity.WARNING),)), "suspected", 1),
        (Report(findings=(finding(Severity.NOTE),)), "suspected", 0),
        (Report(findings=(finding(verdict=VerdictKind.CONFIRMED),)), "confirmed", 1),
        (Report(findings=(finding(verdict=VerdictKind.NOT_REPRODUCED),)), "suspected", 0),
        (Report(diagnostics=(Diagnostic("warning", "w"),)), "suspected", 0),
        (Report(diagnostics=(Diagnostic("error", "e"),)), "suspected", 2),
        (Report(findings=(finding(),), diagnostics=(Diagnostic("error", "e"),)), "suspected", 2),
        (Report(models=(NOT_PROBED,)), "suspected", 2),
        (Report(models=(ModelReport("m:A", "m.py", 1, ModelStatus.NOT_PROBED),)), "suspected", 0),
    ],
)
def test_the_exit_code_says_whether_all_was_done_and_what_was_found(report: Report, fail_on: str, code: int) -> None:
    assert exit_code(report, fail_on) == code


@pytest.fixture
def gate(here: Path) -> Path:
    (here / "gate.py").write_text(GATE)
    return here / "gate.py"


def check(*flags: str) -> Result:
    return CliRunner().invoke(main, ["check", "--static-only", "--no-cache", "--color", "never", *flags, "gate.py"])


def test_exit_zero_forgives_findings_and_no_failed_run(gate: Path) -> None:
    assert check().exit_code == 1
    assert check("--exit-zero").exit_code == 0
    assert check("--exit-zero", "--config", "no-such-file.toml").exit_code == 2


def test_a_report_in_a_file_is_without_color_and_a_file_that_cannot_be_written_puts_it_on_the_screen(
    gate: Path,
) -> None:
    done = check("--color", "always", "--output-file", "out.txt")
    text = Path("out.txt").read_text()
    assert (done.exit_code, done.output) == (1, "")
    assert "ONX101" in text
    assert "\x1b" not in text
    failed = check("--output-file", "none/out.txt")
    assert failed.exit_code == 2
    assert "ONX101" in failed.stdout
    assert "none/out.txt" in failed.stderr


def test_statistics_count_the_findings_of_each_rule(gate: Path) -> None:
    done = check("--statistics")
    assert done.exit_code == 1
    assert any("ONX101" in line and "1" in line.split() for line in done.stdout.splitlines()), done.stdout
    assert "gate.py" not in done.stdout
