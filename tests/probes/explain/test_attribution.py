"""From an outcome to evidence: the places that explain it, with a counterexample each, or the model where none does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from probing import hazard, lines

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Cause, Evidence, Fault, Location, Outcome
from onnxlint.probes.confirm.outcomes import judge
from onnxlint.probes.confirm.trials import Confirmation, confirm
from onnxlint.probes.explain.attribution import attribute, eager_evidence, searched_evidence
from onnxlint.probes.exporters import Export, dynamo, torchscript
from onnxlint.probes.observe.eager import Eager, explore, prepare
from onnxlint.probes.search.branch_search import Branch, Fate

EXPORT = {"dynamo": dynamo.export, "torchscript": torchscript.export}


def observed(factory: str, folder: Path, **options: Any) -> tuple[Probe, Eager]:
    probe = hazard(factory, folder / "repro", **options)
    eager = prepare(probe)
    explore(probe, eager)
    return probe, eager


def confirmed(probe: Probe, eager: Eager, exporter: str, folder: Path) -> Confirmation:
    made = EXPORT[exporter](eager.fresh(), eager.example, probe.opset, folder, probe.root)
    return confirm(probe, eager, made) if made.path is not None else Confirmation(made)


def attributed(factory: str, exporter: str, folder: Path, **options: Any) -> tuple[Outcome, list[Evidence]]:
    probe, eager = observed(factory, folder, **options)
    confirmation = confirmed(probe, eager, exporter, folder)
    outcome, _ = judge(eager, confirmation)
    return outcome, attribute(probe, eager, confirmation, outcome)


def line(e: Evidence) -> int:
    assert e.frames[0].path == "hazards.py"
    return e.frames[0].line


def kept(evidence: Iterable[Evidence]) -> list[Path]:
    return [Path(e.repro) for e in evidence if e.repro is not None]


def forward_of(factory: str) -> int:
    (number,) = lines(factory, "def forward(self, x):")
    return number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "exporter", "outcome", "cause"),
    [
        ("Branch", "torchscript", Outcome.WRONG_VALUES, Cause.BRANCH),
        ("Item", "torchscript", Outcome.WRONG_VALUES, Cause.ESCAPE),
        ("DimBranch", "dynamo", Outcome.WRONG_VALUES, Cause.GUARD),
        ("IntBatch", "torchscript", Outcome.SHAPE_ERROR, Cause.ESCAPE),
        ("RepeatedIndex", "torchscript", Outcome.WRONG_VALUES, Cause.MISMATCH),
        ("Noise", "dynamo", Outcome.NONDETERMINISTIC, Cause.RANDOM),
        ("Branch", "dynamo", Outcome.EXPORT_ERROR, Cause.REFUSED),
    ],
)
def test_the_line_at_fault_is_named_with_a_script(
    factory: str, exporter: str, outcome: Outcome, cause: Cause, tmp_path: Path
) -> None:
    judged, evidence = attributed(factory, exporter, tmp_path)
    assert judged is outcome
    assert {line(e) for e in evidence} == set(lines(factory))
    assert cause in {e.cause for e in evidence}
    assert {(e.exporter, e.symptom) for e in evidence} == {(exporter, outcome)}
    assert kept(evidence)
    assert all(script.is_file() for script in kept(evidence))
    who_called = {frame.path for e in evidence for frame in e.frames}
    assert not any(path.endswith("test_attribution.py") for path in who_called)


@pytest.mark.slow
def test_the_evidence_holds_the_input_the_error_the_graphs_and_who_agrees(tmp_path: Path) -> None:
    _, (evidence,) = attributed("Branch", "torchscript", tmp_path)
    assert evidence.variation.startswith("values[")
    assert evidence.reduced
    assert evidence.inputs["x"].startswith("float32[")
    assert (evidence.max_abs or 0) > 0
    assert evidence.graphs is not None
    assert evidence.sides is not None
    assert evidence.sides.fault is Fault.MODEL
    assert evidence.runtime == "", "ONNX Runtime on the CPU needs no mention"
    assert evidence.repro is not None
    assert Path(evidence.repro).with_name("found.npz").is_file(), "the input before it was made small"


@pytest.mark.slow
def test_of_what_was_seen_in_float32_alone_no_script_is_kept(tmp_path: Path) -> None:
    probe, eager = observed("Branch", tmp_path)
    confirmation = replace(confirmed(probe, eager, "torchscript", tmp_path), in_float32="no kernel")
    (evidence,) = attribute(probe, eager, confirmation, Outcome.WRONG_VALUES)
    assert (line(evidence), evidence.repro) == (lines("Branch")[0], None)
    assert not (tmp_path / "repro").exists()


@pytest.mark.slow
def test_a_refusal_that_names_no_line_is_told_at_forward(tmp_path: Path) -> None:
    probe, eager = observed("Linear", tmp_path)
    refused = Confirmation(Export("torchscript", error="RuntimeError: no"))
    (evidence,) = attribute(probe, eager, refused, Outcome.EXPORT_ERROR)
    assert (evidence.cause, line(evidence), evidence.detail) == (
        Cause.REFUSED,
        forward_of("Linear"),
        "RuntimeError: no",
    )
    unloaded = Confirmation(Export("torchscript"), refusal="the file\n is " + "too long " * 50)
    (evidence,) = attribute(probe, eager, unloaded, Outcome.RUNTIME_ERROR)
    assert (evidence.cause, line(evidence)) == (Cause.RUNTIME, forward_of("Linear"))
    assert evidence.detail.startswith("the file is too long too long")
    assert len(evidence.detail) == 238


def test_the_sizes_that_eager_rejects_are_told_once_a_line(tmp_path: Path) -> None:
    probe, eager = observed("EagerFixed", tmp_path)
    assert len(eager.fixed) > 1
    (evidence,) = eager_evidence(probe, eager)
    assert (evidence.exporter, evidence.cause, evidence.symptom) == ("eager", Cause.EAGER, Outcome.EAGER_ERROR)
    assert (line(evidence), evidence.variation) == (lines("EagerFixed")[0], eager.fixed[0].label)
    assert evidence.detail.startswith(f"eager PyTorch rejects {evidence.variation}: ")
    (script,) = kept([evidence])
    assert evidence.variation in script.read_text()


def test_a_script_that_cannot_be_written_is_told_and_none_is_named(tmp_path: Path) -> None:
    probe, eager = observed("EagerFixed", tmp_path)
    (tmp_path / "repro").write_text("no folder")
    (evidence,) = eager_evidence(probe, eager)
    assert evidence.repro is None
    assert eager.costs.unkept == [
        f"a counterexample (eager, {evidence.variation}) cannot be kept: Not a directory",
    ]


def test_only_an_arm_that_may_matter_is_told_as_one_that_was_left_out(tmp_path: Path) -> None:
    frames = (Location("hazards.py", 3),)
    branches = [Branch(frames, fate, f"it is {fate}", "forced") for fate in Fate]
    evidence = searched_evidence(hazard("Branch", tmp_path), branches)
    assert {e.detail for e in evidence if e.symptom is Outcome.SKIPPED} == {
        "it is forced and differs",
        "it is not decided",
    }
    assert {(e.cause, e.frames, e.exporter, e.variation) for e in evidence} == {
        (Cause.BRANCH, frames, "eager", "forced")
    }
    assert len(evidence) == len(Fate)
