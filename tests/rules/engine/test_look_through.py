"""The libcst pass over a file that libcst does not read, or that an error of our own meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base import workers
from onnxlint.base.records import Report
from onnxlint.config.settings import Settings
from onnxlint.rules.engine import observed_file
from onnxlint.rules.engine.registry import all_rules
from onnxlint.rules.engine.source_page import Page
from onnxlint.run.pipeline import run_check

MODEL = """\
import torch
from torch import nn


class M(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return -x
        return x
"""


def checked(text: str, folder: Path) -> Report:
    (folder / "model.py").write_text(text)
    return run_check([folder], Settings(root=folder, static_only=True, cache=False))


@pytest.mark.parametrize("before", ["    def", "        if"])
def test_a_finding_is_kept_where_libcst_does_not_read_the_function(before: str, tmp_path: Path) -> None:
    report = checked(MODEL.replace(before, f"\x0c{before}", 1), tmp_path)
    assert report.diagnostics == ()
    (finding,) = report.findings
    assert (finding.code, finding.span.line) == ("ONX101", 7)
    assert finding.fix is not None
    assert finding.fix.edits == ()


def test_an_error_of_our_own_is_reported_beside_the_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(page: Page, line: int) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(observed_file, "_piece", fails)
    report = checked(MODEL, tmp_path)
    assert [(d.level, d.message, d.line) for d in report.diagnostics] == [
        ("error", "internal error before the rules: ZeroDivisionError: ", 7)
    ]
    assert [f.code for f in report.findings] == ["ONX101"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, type("End", (BaseException,), {"__module__": workers.__name__})])
def test_an_interrupt_while_a_rule_runs_ends_the_run(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise error

    rule = all_rules()["ONX101"]
    monkeypatch.setattr(type(rule), "handlers", dict.fromkeys(rule.handlers, interrupted))
    with pytest.raises(error):
        checked(MODEL, tmp_path)
