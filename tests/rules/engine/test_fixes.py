"""The fixes of findings: written by their rules where they fit, left out with a reason where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Diagnostic, Finding, Fix
from onnxlint.config.settings import Settings
from onnxlint.rules.engine.fixes import with_fixes
from onnxlint.rules.engine.registry import all_rules
from onnxlint.rules.engine.source_page import Page
from onnxlint.run.pipeline import run_check

MODEL = """\
import torch
from torch import nn


class Pool(nn.Module):
    def forward(self, image):
        return image.mean(dim=(2, 3), keepdim=True).squeeze()
"""


@pytest.fixture
def found(tmp_path: Path) -> Sequence[Finding]:
    (tmp_path / "pool.py").write_text(MODEL)
    findings = run_check([tmp_path], Settings(root=tmp_path, static_only=True, cache=False)).findings
    assert [f.code for f in findings] == ["ONX205"]
    return [replace(f, fix=None) for f in findings]


def test_a_fix_is_that_of_the_text_that_was_checked(found: Sequence[Finding]) -> None:
    (finding,) = with_fixes(found, Page(found[0].span.path, MODEL))
    assert finding.fix is not None
    after = apply_edits(MODEL, finding.fix.edits)
    assert "squeeze()" not in after
    compile(after, "pool.py", "exec")


def test_a_text_that_does_not_parse_any_more_costs_the_fix_and_no_finding(found: Sequence[Finding]) -> None:
    failures: list[Diagnostic] = []
    (finding,) = with_fixes(found, Page(found[0].span.path, MODEL.replace("squeeze()", "squeeze() )")), failures)
    assert (finding.fix, failures) == (None, [])


def test_an_error_of_a_rule_is_reported_and_costs_its_fix_only(
    found: Sequence[Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(site: object) -> Fix | None:
        raise ZeroDivisionError("by none")

    monkeypatch.setattr(all_rules()["ONX205"], "fix", fails)
    failures: list[Diagnostic] = []
    (finding,) = with_fixes(found, Page(found[0].span.path, MODEL), failures)
    assert finding.fix is None
    assert [(d.level, d.line) for d in failures] == [("error", 7)]
    assert "ONX205" in failures[0].message
    assert "by none" in failures[0].message
    with pytest.raises(ZeroDivisionError):
        with_fixes(found, Page(found[0].span.path, MODEL))
