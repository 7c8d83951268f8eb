"""The search for the input that takes the other branch: found along gradients, by constants, by chance, or forced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from probing import FOLDER

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Cause, Outcome
from onnxlint.probes.observe.decisions import decide
from onnxlint.probes.observe.eager import Eager, explore, prepare
from onnxlint.probes.process.worker import run_probe
from onnxlint.probes.search.branch_search import Branch, Fate, search

BATCH = {"x": {0: "batch"}}


def probe(factory: str, folder: Path = FOLDER, inputs: str = "x23", **changes: Any) -> Probe:
    made: dict[str, Any] = {
        "name": factory,
        "factory": f"branching:{factory}",
        "path": "branching.py",
        "line": 1,
        "source": "config",
        "inputs": f"branching:{inputs}",
        "dynamic": BATCH,
        "sizes": {},
        "vary": None,
        "exporters": ("torchscript",),
        "opset": 18,
        "search_path": (str(FOLDER),),
        "root": str(FOLDER),
        "repro_dir": str(folder),
    }
    return Probe(**(made | changes))


def marked(factory: str) -> int:
    inside = False
    for number, text in enumerate((FOLDER / "branching.py").read_text().splitlines(), 1):
        if text.startswith("class "):
            inside = text.startswith(f"class {factory}(")
        if inside and text.endswith("# here"):
            return number
    raise AssertionError(factory)


def searched(asked: Probe) -> tuple[list[Branch], Eager]:
    eager = prepare(asked)
    explore(asked, eager)
    return search(asked, eager), eager


FLIPPED: list[tuple[str, str, Mapping[str, Any]]] = [
    ("FarThreshold", "x23", {}),
    ("Window", "x23", {}),
    ("ShareOfMask", "masked", {}),
    ("Count", "counted", {}),
    ("SilentTokens", "tokens", {"dynamic": {"ids": {0: "batch"}}}),
    ("MeanThreshold", "x23", {}),
]


@pytest.mark.parametrize(("factory", "inputs", "changes"), FLIPPED, ids=[row[0] for row in FLIPPED])
def test_an_input_is_found_that_takes_the_other_branch(factory: str, inputs: str, changes: Mapping[str, Any]) -> None:
    branches, eager = searched(probe(factory, inputs=inputs, **changes))
    (branch,) = branches
    assert (branch.fate, branch.frames[0].line) == (Fate.FLIPPED, marked(factory))
    run = eager.runs[-1]
    assert run.label == branch.variation == f"search[branching.py:{marked(factory)}]"
    mine = [d.value for d in decide(eager.model, run.args, run.kwargs, str(FOLDER)).decisions]
    assert mine != [d.value for d in decide(eager.model, eager.base.args, {}, str(FOLDER)).decisions]


def test_an_end_of_all_rows_before_the_last_round_is_found() -> None:
    branches, eager = searched(probe("StopsWhenAllHaveEnded", inputs="rows"))
    assert [branch.fate for branch in branches] == [Fate.FLIPPED]
    assert eager.runs[-1].outputs[0].shape[1] < 5
    assert eager.runs[-1].label.startswith("search[")


def test_zeros_do_not_count_as_the_other_branch() -> None:
    branches, eager = searched(probe("Bright", inputs="pixels", ranges={"x": (0.0, 255.0)}))
    assert [branch.fate for branch in branches] == [Fate.FLIPPED]
    moved = eager.runs[-1].args[0]
    assert 0 < float(moved.max()) <= 1


def test_a_number_that_python_read_is_driven_across_its_threshold() -> None:
    _, eager = searched(probe("NumberThreshold"))
    assert float(eager.runs[-1].args[0].max()) > 123456


@pytest.mark.parametrize(
    ("factory", "fate", "says"),
    [
        ("Unreachable", Fate.DIFFERS, "max abs difference"),
        ("UnreachableAlike", Fate.SAME, "stay the same"),
        ("UnreachableRaising", Fate.OPEN, "raises RuntimeError"),
    ],
)
def test_what_no_input_reaches_is_forced(factory: str, fate: Fate, says: str) -> None:
    branches, eager = searched(probe(factory))
    assert [(b.fate, b.frames[0].line) for b in branches] == [(fate, marked(factory))]
    assert says in branches[0].detail
    assert not any(run.label.startswith("search") for run in eager.runs)


def test_a_declared_range_is_not_left_by_the_search() -> None:
    branches, _ = searched(probe("FarThreshold", ranges={"x": (-10.0, 10.0)}))
    assert [b.fate for b in branches] == [Fate.DIFFERS]


def test_a_check_of_the_input_that_pytorch_itself_raises_is_no_branch() -> None:
    branches, eager = searched(probe("Checked"))
    assert branches == []
    assert all(run.observation.error is None for run in eager.runs)


def test_the_users_own_vary_is_all_that_the_search_asks() -> None:
    branches, eager = searched(probe("FarThreshold", vary="branching:vary_sometimes"))
    assert [b.fate for b in branches] == [Fate.DIFFERS]
    assert float(max(run.args[0].max() for run in eager.accepted)) < 1000
    assert [text.partition(" was")[0] for text in eager.lost] == ["values[negative#3]"]


def test_nothing_is_run_where_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = probe("Untouched")
    eager = prepare(asked)
    explore(asked, eager)
    monkeypatch.setattr("onnxlint.probes.search.branch_search.decide", None)
    assert search(asked, eager) == []


@pytest.mark.slow
def test_a_found_input_confirms_what_the_export_keeps(tmp_path: Path) -> None:
    result = run_probe(probe("FarThreshold", tmp_path))
    line = marked("FarThreshold")
    assert result.report.exporters["torchscript"].outcome is Outcome.WRONG_VALUES
    (evidence,) = [e for e in result.evidence if e.exporter == "torchscript"]
    assert (evidence.cause, evidence.frames[0].line) == (Cause.BRANCH, line)
    assert evidence.variation == f"search[branching.py:{line}]"


@pytest.mark.slow
def test_what_was_only_forced_is_told_and_is_no_failure(tmp_path: Path) -> None:
    results: dict[str, ProbeResult] = {f: run_probe(probe(f, tmp_path)) for f in ("Unreachable", "UnreachableAlike")}
    for result in results.values():
        assert result.report.exporters["torchscript"].outcome is Outcome.OK
    symptoms = {f: [(e.exporter, e.cause, e.symptom) for e in result.evidence] for f, result in results.items()}
    assert symptoms == {
        "Unreachable": [("eager", Cause.BRANCH, Outcome.SKIPPED)],
        "UnreachableAlike": [("eager", Cause.BRANCH, Outcome.OK)],
    }
