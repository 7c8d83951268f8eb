"""From the trials of an export to its outcome: the most serious one decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import hazard

from onnxlint.base.records import Outcome
from onnxlint.probes.common.numerics import Difference
from onnxlint.probes.confirm.outcomes import judge
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial
from onnxlint.probes.exporters import Export
from onnxlint.probes.observe.eager import Eager, explore, prepare


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Eager:
    probe = hazard("Linear", tmp_path_factory.mktemp("kept"))
    prepared = prepare(probe)
    explore(probe, prepared)
    return prepared


def confirmation(eager: Eager, results: dict[str, Result]) -> Confirmation:
    made = Confirmation(Export("torchscript", Path("model.onnx")))
    for run in eager.accepted:
        result = results.get(run.label, Result.AGREES)
        gap = Difference(0, "off", 1.0, 1.0) if result is Result.VALUES else None
        made.trials.append(Trial(run, result, difference=gap, message=result.value))
    return made


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        ({}, Outcome.OK),
        ({"batch=3": Result.REFUSED}, Outcome.SHAPE_ERROR),
        ({"batch=3": Result.SHAPE}, Outcome.SHAPE_ERROR),
        ({"batch=3": Result.VALUES}, Outcome.WRONG_VALUES),
        ({"batch=1": Result.REFUSED, "batch=3": Result.VALUES}, Outcome.WRONG_VALUES),
        ({"values[normal#0]": Result.VALUES}, Outcome.WRONG_VALUES),
    ],
)
def test_the_most_serious_trial_decides(eager: Eager, results: dict[str, Result], outcome: Outcome) -> None:
    assert judge(eager, confirmation(eager, results))[0] is outcome


def test_a_dim_that_came_out_constant_is_told_as_such(eager: Eager) -> None:
    checked = confirmation(eager, {"batch=1": Result.REFUSED, "batch=3": Result.REFUSED, "batch=5": Result.REFUSED})
    checked.constant = [("x", 0, "batch")]
    outcome, detail = judge(eager, checked)
    assert outcome is Outcome.STATIC_DIM
    assert "axis 0 of `x` (batch)" in detail
    checked.trials[1] = Trial(eager.runs[0], Result.VALUES, message="off")
    assert judge(eager, checked)[0] is Outcome.WRONG_VALUES


def test_what_stops_earlier_is_told_first(eager: Eager) -> None:
    checked = confirmation(eager, {"batch=3": Result.VALUES})
    checked.random = True
    assert judge(eager, checked)[0] is Outcome.NONDETERMINISTIC
    checked.refusal = "cannot load"
    assert judge(eager, checked) == (Outcome.RUNTIME_ERROR, "cannot load")
    checked.export.error = "no"
    assert judge(eager, checked) == (Outcome.EXPORT_ERROR, "no")
