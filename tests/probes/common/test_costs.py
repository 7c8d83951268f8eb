"""What a probe may cost: slow models are run on the most telling inputs alone, searches end when their time is up."""

from __future__ import annotations

import time

import pytest
import torch
from torch.onnx._internal.exporter import _registration

from onnxlint.probes.common import costs as module
from onnxlint.probes.common.costs import FEWEST, LEAST, Costs, Deadline
from onnxlint.probes.common.cutoff import TooLong, cut_off
from onnxlint.probes.examples.vary import Variation, telling
from onnxlint.probes.exporters.translation_table import translatable


def burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_searches_get_what_the_exports_leave_and_a_little_in_any_case() -> None:
    costs = Costs()
    assert costs.left(4.0) == 4.0
    with costs.paying("dynamo"):
        burn(0.5)
    costs.exported = True
    assert 0.3 < costs.left(4.0) <= (module.ANY - 1) * costs.bare
    assert costs.left(0.1) == 0.1
    burn(0.6)
    assert costs.left(4.0) == LEAST


def test_what_explains_a_failure_goes_on_for_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OWN", 0.2)
    costs = Costs()
    with costs.paying("dynamo"):
        burn(0.2)
    began = time.process_time()
    burn(0.3)
    assert not costs.over(began)  # nobody knows yet what the exports cost
    costs.exported = True
    assert costs.over(began)
    assert not costs.over(time.process_time())


def test_a_quick_model_is_run_on_everything_and_a_slow_one_on_few_inputs_which_is_told() -> None:
    costs = Costs()
    assert costs.affordable(20, 0.01, "the model") == 20
    assert costs.cut == []
    assert costs.affordable(20, 3.0, "the model") == FEWEST
    assert costs.cut == [f"the model was run on {FEWEST} of 20 inputs, since one run takes 3.0 s"]


def test_the_most_telling_inputs_are_other_values_and_every_dim_once() -> None:
    example = {"batch": 2, "length": 7}
    values = [Variation(f"values {k}", (), {}, example) for k in range(8)]
    sizes = [
        Variation(f"{dim}={size}", (), {}, {**example, dim: size}, "sizes") for dim in example for size in (1, 3, 5)
    ]
    chosen = [change.label for change in telling([*values, *sizes], 6)]
    assert chosen == ["values 0", "batch=1", "values 1", "length=1", "values 2", "batch=3"]


def test_a_run_that_takes_too_long_is_ended_and_the_clock_is_taken_back() -> None:
    with pytest.raises(TooLong), cut_off(0.05):
        burn(5.0)
    with cut_off(0.05):
        pass
    burn(0.1)


def test_a_run_that_waits_is_ended_as_well_and_one_that_waits_for_its_turn_is_not() -> None:
    with pytest.raises(TooLong), cut_off(0.02):
        time.sleep(60.0)
    with cut_off(5.0):
        time.sleep(0.1)
    assert 0 < Deadline.after(60.0).left <= 60.0
    assert Deadline.after(-1.0).left < 0


class Parts(torch.nn.Module):
    """Operators that PyTorch composes of others, and one that writes in place."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.adaptive_avg_pool1d(x, 1).to(torch.float64)
        y.add_(1)
        return torch.max(y, y * 2)


class Foreign(torch.nn.Module):
    """An operator that ONNX does not have."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x)


@pytest.mark.parametrize(("model", "known"), [(Parts(), True), (Foreign(), False)])
def test_operators_are_known_by_what_they_are_made_of(model: torch.nn.Module, known: bool) -> None:
    program = torch.export.export(model, (torch.ones(2, 3, 3),))
    assert translatable(program, _registration.ONNXRegistry.from_torchlib(opset_version=18)) is known
