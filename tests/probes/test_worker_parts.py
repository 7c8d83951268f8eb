"""What a probe sees without any export: the state that a forward changes, leaves by name, guards on an input."""

from __future__ import annotations

from pathlib import Path

import pytest
import sympy
import torch
from probing import hazard, lines

from onnxlint.base.records import Location
from onnxlint.probes.exporters import Guard, leaves
from onnxlint.probes.observe import model_state
from onnxlint.probes.observe.eager import Eager, explore, prepare


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Eager:
    probe = hazard("Linear", tmp_path_factory.mktemp("kept"))
    prepared = prepare(probe)
    explore(probe, prepared)
    return prepared


def test_a_forward_that_writes_is_seen_and_blamed(tmp_path: Path) -> None:
    prepared = prepare(hazard("Counter", tmp_path))
    assert prepared.mutated == ["calls"]
    model = prepared.fresh()
    root = str(Path(__file__).parent)
    places = model_state.blame(lambda: model(torch.ones(1)), lambda: model_state.snapshot(model), root)
    assert [frames[0].line for frames in places] == lines("Counter")


def test_a_forward_that_only_reads_changes_nothing(eager: Eager) -> None:
    assert eager.mutated == []
    assert not eager.stateful
    assert not eager.random


def test_state_sees_what_hides_in_plain_containers() -> None:
    model = torch.nn.Module()
    model.seen = {"sizes": [1]}
    model.hidden = [torch.nn.BatchNorm1d(3)]
    before = model_state.snapshot(model)
    assert model_state.changed(before, model_state.snapshot(model)) == []
    model.hidden[0](torch.randn(4, 3))
    assert model_state.changed(before, model_state.snapshot(model)) == ["hidden"]
    model.seen["sizes"].append(2)
    assert model_state.changed(before, model_state.snapshot(model)) == ["hidden", "seen"]


def test_leaves_are_named_after_parameters_and_keys() -> None:
    one, two = torch.ones(1), torch.ones(2)
    found = leaves(("x", "batch"), (one, {"user": two, "none": None, "more": [3]}), {"scale": 2.0})
    assert list(found) == ["x", "batch.user", "batch.more.0", "scale"]
    assert found["batch.user"] is two


def test_a_guard_is_tested_on_an_input() -> None:
    s = sympy.Symbol("s7", positive=True, integer=True)
    guard = Guard(s <= 4, "guard", {"s7": ("x", 1)}, (Location("model.py", 3),))
    assert guard.text == "x.shape[1] <= 4"
    assert guard.holds({"x": torch.ones(9, 4)}) is True
    assert guard.holds({"x": torch.ones(4, 9)}) is False
    assert guard.holds({}) is None
    assert Guard(sympy.Eq(s, 3, evaluate=False), "", {"s7": ("x", 0)}, ()).text == "x.shape[0] == 3"


def test_a_guard_that_pins_a_size_implies_what_holds_for_it() -> None:
    s = sympy.Symbol("s7", integer=True)
    turns, place = s // 160 - 1, (Location("model.py", 3),)

    def guard(condition: object) -> Guard:
        return Guard(condition, "guard", {"s7": ("x", 1)}, place)

    pinned = guard(sympy.Eq(turns, 8))
    assert pinned.implies(guard(turns > 3))
    assert not pinned.implies(guard(turns > 8))
    assert not pinned.implies(guard(s > 3))
    assert not guard(turns > 3).implies(guard(turns > 2))
