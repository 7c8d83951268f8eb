"""The whole path without a configuration: what is probed, what is not, and what both passes say together."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from onnxlint.base.records import ModelReport, ModelStatus, Outcome, Report, VerdictKind
from onnxlint.config.settings import Settings
from onnxlint.rules.engine import findings, look_through
from onnxlint.run.pipeline import run_check

MODEL = """\
import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = self.drop(self.fc(x))
        if h.mean() > 0:
            return h * 2
        return h - 1


class Needy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return self.fc(x)


class Fed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.example_input_array = torch.randn(2, 4)

    def forward(self, x):
        return self.fc(x)
"""

EXPORT = """\
import torch
from model import Gate


def main(path="gate.onnx"):
    model = Gate()
    model.eval()
    example = torch.randn(3, 5, 8)
    axes = {"x": {0: "batch", 1: "time"}, "y": {0: "batch", 1: "time"}}
    torch.onnx.export(model, (example,), path, input_names=["x"], output_names=["y"], dynamic_axes=axes, dynamo=False)
"""


@pytest.fixture
def project(here: Path) -> Path:
    """Two files, no configuration."""
    (here / "model.py").write_text(MODEL)
    (here / "export.py").write_text(EXPORT)
    return here


def models(report: Report) -> dict[str, ModelReport]:
    return {m.name: m for m in report.models}


def test_a_forward_that_an_export_call_reaches_is_still_analysed_on_its_own(project: Path) -> None:
    report = run_check([project], Settings(root=project, static_only=True))
    assert [(f.code, f.span.line) for f in report.findings] == [("ONX101", 13)]


def test_a_model_whose_constructor_needs_arguments_is_listed_with_the_lines_that_would_help(project: Path) -> None:
    pytest.importorskip("torch")
    needy_alone = "from torch import nn\n\n\nclass Needy" + MODEL.partition("class Needy")[2].partition("class Fed")[0]
    (project / "model.py").write_text(needy_alone)
    report = run_check([project / "model.py"], Settings(root=project))
    needy = models(report)["model:Needy"]
    assert needy.status is ModelStatus.NOT_PROBED
    assert needy.reason == "its constructor needs `width`"
    assert needy.remedy is not None
    assert needy.remedy.startswith("[[tool.onnxlint.models]]")


@pytest.mark.slow
def test_a_model_that_is_asked_for_is_given_arguments(project: Path) -> None:
    report = run_check([project / "model.py"], Settings(root=project, only_models=("model:Needy",)))
    needy = models(report)["model:Needy"]
    assert needy.status is ModelStatus.PROBED
    assert needy.assumed is not None
    assert needy.assumed.arguments == {"width": 32}
    assert [r.outcome for r in needy.exporters.values()] == [Outcome.OK, Outcome.OK]


@pytest.mark.slow
def test_what_an_export_call_builds_and_what_a_convention_feeds_is_probed(project: Path) -> None:
    report = run_check([project], Settings(root=project, repro_dir=project / "repro"))
    found = models(report)
    assert found["model:Gate"].exporters["torchscript"].outcome is Outcome.WRONG_VALUES
    assert found["model:Gate"].exporters["dynamo"].outcome is Outcome.EXPORT_ERROR
    assert [r.outcome for r in found["model:Fed"].exporters.values()] == [Outcome.OK, Outcome.OK]
    assert found["model:Needy"].status is ModelStatus.NOT_PROBED
    (finding,) = report.findings
    assert (finding.code, finding.verdict) == ("ONX101", VerdictKind.CONFIRMED)
    assert "model.eval()" in Path(next(e.repro for e in finding.evidence if e.repro)).read_text()
    assert report.diagnostics == ()


@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")
def test_a_process_that_is_killed_is_one_warning_and_no_finding_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(findings, "WORTH_PROCESSES", 1)
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.py").write_text(MODEL)
    settings = Settings(tmp_path, static_only=True, cache=False, jobs=2)
    whole = run_check([tmp_path], settings)
    here, look = os.getpid(), look_through.look_through

    def killed(path: str, *args: object) -> object:
        if path == "two.py" and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return look(path, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(look_through, "look_through", killed)
    report = run_check([tmp_path], settings)
    assert report.findings == whole.findings != ()
    assert [d.level for d in whole.diagnostics] == []
    [warning] = report.diagnostics
    assert (warning.level, "SIGKILL" in warning.message) == ("warning", True)
