"""What exporters get wrong without a word: the dynamic pass alone names the cause, the line and the rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from probing import BATCH, hazard, lines, named, outcomes

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Cause, VerdictKind
from onnxlint.probes.process.worker import run_probe
from onnxlint.verdicts import join

pytestmark = pytest.mark.slow
MODULE = "silent_faults"
LENGTH = {"x": {0: "batch", 1: "length"}}


@dataclass(frozen=True)
class Row:
    """One fault: what each exporter makes of it, the cause at the marked line of each, and the codes reported."""

    factory: str
    torchscript: str
    dynamo: str
    causes: dict[str, Cause]
    codes: set[str]
    options: dict[str, Any] = field(default_factory=dict)
    owner: str = ""


def both(one: Cause, other: Cause | None = None) -> dict[str, Cause]:
    return {"torchscript": one, "dynamo": other or one}


BRANCH_AND_GUARD = both(Cause.BRANCH, Cause.GUARD)
BRANCH_AND_REFUSAL = both(Cause.BRANCH, Cause.REFUSED)
WRONG = ("wrong-values", "wrong-values")
CHANCE = ("nondeterministic", "nondeterministic")
LONG = {"inputs": "long", "dynamic": LENGTH}
ONE = {"inputs": "x16"}

TABLE = (
    # dynamo drops guards on sizes, and TorchScript the branches
    Row("LengthBranch", *WRONG, BRANCH_AND_GUARD, {"ONX703"}, LONG),
    Row("ManyBranch", *WRONG, BRANCH_AND_GUARD, {"ONX703"}, ONE),
    Row("Remainder", *WRONG, BRANCH_AND_GUARD, {"ONX703"}, LONG),
    Row("DerivedEquality", *WRONG, BRANCH_AND_GUARD, {"ONX703"}, LONG),
    Row("DerivedInt", *WRONG, both(Cause.ESCAPE, Cause.GUARD), {"ONX704"}, LONG),
    Row("Unrolled", "wrong-values", "export-error", BRANCH_AND_REFUSAL, {"ONX703"}, LONG),
    Row("warmed", "shape-error", "shape-error", BRANCH_AND_GUARD, {"ONX703"}, owner="Warmed"),
    # a dimension of 1, or of the example's size, for ever
    Row("Squeezed", "ok", "shape-error", {"dynamo": Cause.RUNTIME}, {"ONX706"}, ONE),
    Row("Unflattened", "shape-error", "ok", {"torchscript": Cause.MISMATCH}, {"ONX705"}),
    Row(
        "FrozenBesideBranch",
        "shape-error",
        "ok",
        {"torchscript": Cause.ESCAPE},
        {"ONX704"},
        {"dynamic": LENGTH},
    ),
    Row(
        "FrozenBesideBound",
        "shape-error",
        "ok",
        {"torchscript": Cause.ESCAPE},
        {"ONX704"},
        {"dynamic": LENGTH},
    ),
    # modes and chance
    Row("ActiveDropout", *CHANCE, both(Cause.RANDOM), {"ONX707"}),
    Row("NeverEvaluated", "ok", "nondeterministic", {"dynamo": Cause.RANDOM}, {"ONX707"}),
    Row("OwnEval", *CHANCE, both(Cause.RANDOM), {"ONX707"}),
    Row("LayerDrop", *CHANCE, both(Cause.RANDOM), {"ONX707"}),
    # wrong on the example itself
    Row("ThroughView", "wrong-values", "ok", {"torchscript": Cause.MISMATCH}, {"ONX705"}),
    Row("RepeatedRows", "wrong-values", "ok", {"torchscript": Cause.MISMATCH}, {"ONX705"}),
    Row("BatchStatistics", "ok", "wrong-values", {"dynamo": Cause.MISMATCH}, {"ONX705"}),
    Row("DroppedEpsilon", "ok", "wrong-values", {"dynamo": Cause.MISMATCH}, {"ONX705"}),
    # inputs that vanish, and one whose values matter
    Row("LostMask", "wrong-values", "export-error", BRANCH_AND_REFUSAL, {"ONX703"}, {"inputs": "weighted"}),
    Row("LostFlag", *WRONG, both(Cause.INPUT_VANISHED), {"ONX708"}, {"inputs": "flagged", "vary": "other_flag"}),
    Row(
        "Attention",
        "ok",
        "wrong-values",
        {"dynamo": Cause.MISMATCH},
        {"ONX705"},
        {"inputs": "masked", "dynamic": {"x": {0: "batch", 2: "length"}, "mask": {0: "batch", 1: "length"}}},
    ),
    # code that no look at the forward shows
    Row("Hooked", "wrong-values", "export-error", BRANCH_AND_REFUSAL, {"ONX703"}),
    Row("Inherited", "wrong-values", "export-error", BRANCH_AND_REFUSAL, {"ONX703"}, owner="Base"),
    Row("TracingOnly", "ok", "export-error", {"dynamo": Cause.REFUSED}, {"ONX703"}),
    Row("ExportingOnly", "wrong-values", "ok", {"torchscript": Cause.BRANCH}, {"ONX703"}),
    # a forward that changes its model
    Row("Accumulating", *WRONG, both(Cause.MUTATION), {"ONX709"}),
    Row("Sharpened", *WRONG, both(Cause.MUTATION), {"ONX709"}),
    # and one that only looks like a fault
    Row("PythonDefault", "ok", "ok", {}, set()),
)


@pytest.mark.parametrize("row", TABLE, ids=[row.factory for row in TABLE])
def test_the_dynamic_pass_alone_names_cause_line_and_rule(row: Row, tmp_path: Path) -> None:
    options = {"inputs": "x26", "dynamic": BATCH, **row.options}
    result = run_probe(hazard(row.factory, tmp_path, module=MODULE, **options))
    assert outcomes(result) == {"torchscript": row.torchscript, "dynamo": row.dynamo}
    for exporter in EXPORTERS:
        marked = {n for mark in ("# both", f"# {exporter}") for n in lines(row.owner or row.factory, mark, MODULE)}
        found = named(result, exporter, MODULE)
        if exporter not in row.causes:
            assert not found
            assert not lines(row.owner or row.factory, f"# {exporter}", MODULE)
            continue
        assert set(found) == marked, exporter
        assert row.causes[exporter] in {e.cause for e in found[min(marked)]}
    findings = join((), [result], lambda _, line: (line, line), load_catalogue(), is_checked=lambda _: True)
    assert {finding.code for finding in findings} == row.codes
    assert all(finding.verdict is VerdictKind.CONFIRMED for finding in findings)


def test_the_loop_whose_node_stops_the_run_comes_before_a_branch_elsewhere(tmp_path: Path) -> None:
    probe = hazard("LoopBesideBranch", tmp_path, "x26", LENGTH, exporters=("torchscript",), module=MODULE)
    result = run_probe(replace(probe, sizes={"length": (1, 3, 5)}))
    assert outcomes(result)["torchscript"] == "shape-error"
    location = result.report.exporters["torchscript"].location
    assert location is not None
    assert [location.line] == lines("LoopBesideBranch", "# the loop", MODULE)


def test_a_branch_is_no_cause_where_a_size_stops_its_input_as_it_stops_others(tmp_path: Path) -> None:
    result = run_probe(hazard("FrozenTwice", tmp_path, "x26", LENGTH, exporters=("torchscript",), module=MODULE))
    assert outcomes(result)["torchscript"] == "shape-error"
    assert set(named(result, "torchscript", MODULE)) == set(lines("FrozenTwice", "# torchscript", MODULE))
