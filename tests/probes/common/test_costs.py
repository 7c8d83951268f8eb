"""What a probe may cost: slow models are run on the most telling inputs alone, searches end when their time is up."""

from __future__ import annotations

import time

import pytest
from probing import burn

from onnxlint.probes.common import costs as module
from onnxlint.probes.common.costs import FEWEST, LEAST, Costs


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
    monkeypatch.setattr(module, "_EXPLAINING", 0.2)
    costs = Costs()
    with costs.paying("dynamo"):
        burn(0.2)
    began = time.process_time()
    burn(0.3)
    assert not costs.over(began)  # nobody knows yet what the exports cost
    costs.exported = True
    assert costs.over(began)
    assert not costs.over(time.process_time())


def test_a_quick_model_is_run_on_everything_and_a_slow_one_on_few_inputs_which_is_reported() -> None:
    costs = Costs()
    assert costs.affordable(20, 0.01, "the model") == 20
    assert costs.cut == []
    assert costs.affordable(20, 3.0, "the model") == FEWEST
    assert costs.cut == [f"the model was run on {FEWEST} of 20 inputs, since one run takes 3.0 s"]
