"""The main job on a realistic project: every finding, verdict and outcome, and a counterexample that shows it again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[1]
PROJECT = "fixtures/projects/wakeword"
SOURCE = f"{PROJECT}/src/wakeword"

# (code, path, line): each hazard of the project, once, at the line that causes it.
EXPORT = ("ONX502", f"{PROJECT}/scripts/export.py", 23)  # the axes name `feature`, the input is `features`
PEAK = ("ONX401", f"{SOURCE}/layers/frontend.py", 15)  # `.item()` makes the example's peak a constant
GATE = ("ONX101", f"{SOURCE}/layers/gate.py", 26)  # loud examples keep the gate open for ever
LOOP = ("ONX107", f"{SOURCE}/layers/recurrent.py", 21)  # unrolled for the frames of the example
TRIM = ("ONX202", f"{SOURCE}/models/conformer.py", 49)  # `int()` makes the example's length a constant
DROPOUT = ("ONX302", f"{SOURCE}/models/speaker.py", 39)  # functional, so it drops in eval mode too
HAZARDS = {EXPORT, PEAK, GATE, LOOP, TRIM, DROPOUT}

OUTCOMES = {
    "wakeword.models.ds_cnn:build": {"torchscript": "ok", "dynamo": "ok"},
    "wakeword.models.crnn:build": {"torchscript": "wrong-values", "dynamo": "wrong-values"},
    "wakeword.models.conformer:build": {"torchscript": "wrong-values", "dynamo": "export-error"},
    "wakeword.models.speaker:build": {"torchscript": "nondeterministic", "dynamo": "nondeterministic"},
}


class Run(NamedTuple):
    """What one run of the command gave."""

    code: int
    report: dict[str, Any]
    stderr: str

    def findings(self) -> dict[tuple[str, str, int], str]:
        """Verdicts by place; no place is named twice."""
        found = [(f["code"], f["path"], f["line"]) for f in self.report["findings"]]
        assert len(found) == len(set(found))
        return dict(zip(found, (f["verdict"] for f in self.report["findings"]), strict=True))

    def evidence(self, place: tuple[str, str, int]) -> list[dict[str, Any]]:
        """The evidence of one finding."""
        (found,) = (f for f in self.report["findings"] if (f["code"], f["path"], f["line"]) == place)
        evidence: list[dict[str, Any]] = found["evidence"]
        return evidence


def check(*args: str) -> Run:
    command = [sys.executable, "-m", "onnxlint", "check", PROJECT, "--output-format", "json", *args]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=500, check=False)
    return Run(done.returncode, json.loads(done.stdout), done.stderr)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return check("--repro-dir", str(tmp_path_factory.mktemp("repro")))


def test_the_source_alone_shows_every_hazard_and_nothing_else() -> None:
    run = check("--static-only")
    assert run.code == 1
    assert run.findings() == dict.fromkeys(HAZARDS, "suspected")


@pytest.mark.slow
def test_every_hazard_is_confirmed_but_that_of_the_script_which_is_not_run(run: Run) -> None:
    assert run.findings() == {**dict.fromkeys(HAZARDS, "confirmed"), EXPORT: "suspected"}
    assert run.code == 1
    assert (run.stderr, run.report["diagnostics"]) == ("", [])


@pytest.mark.slow
def test_every_model_is_probed_in_both_exporters(run: Run) -> None:
    outcomes = {
        model["name"]: {name: result["outcome"] for name, result in model["exporters"].items()}
        for model in run.report["models"]
    }
    assert outcomes == OUTCOMES


@pytest.mark.slow
def test_the_evidence_names_the_exporters_and_the_model_that_reaches_the_line(run: Run) -> None:
    seen = {place: {(e["model"], e["exporter"]) for e in run.evidence(place)} for place in HAZARDS}
    both = ("torchscript", "dynamo")
    assert seen == {
        EXPORT: set(),
        PEAK: {("wakeword.models.crnn:build", "torchscript")},
        GATE: {("wakeword.models.conformer:build", exporter) for exporter in both},
        LOOP: {("wakeword.models.crnn:build", exporter) for exporter in both},
        TRIM: {("wakeword.models.conformer:build", "torchscript")},
        DROPOUT: {("wakeword.models.speaker:build", exporter) for exporter in both},
    }


@pytest.mark.slow
@pytest.mark.parametrize("place", [PEAK, GATE, TRIM], ids=lambda place: place[0])
def test_a_counterexample_shows_the_disagreement_again(run: Run, place: tuple[str, str, int]) -> None:
    evidence = next(e for e in run.evidence(place) if e["exporter"] == "torchscript")
    script = REPOSITORY / evidence["repro"]
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stderr
    apart = re.search(r"^output 0: PyTorch .*, (\S+) apart from$", done.stdout, re.MULTILINE)
    assert apart is not None
    assert float(apart[1]) == pytest.approx(evidence["max_abs"], rel=0.05)
