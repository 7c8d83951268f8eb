"""What a forward changes in its model, and the line that does it."""

from __future__ import annotations

from pathlib import Path

import torch
from probing import FOLDER, hazard, lines

from onnxlint.probes.observe import model_state
from onnxlint.probes.observe.eager import explore, prepare


def test_a_forward_that_writes_is_seen_and_blamed(tmp_path: Path) -> None:
    prepared = prepare(hazard("Counter", tmp_path))
    assert prepared.mutated == ["calls"]
    model = prepared.fresh()
    places = model_state.blame(lambda: model(torch.ones(1)), lambda: model_state.snapshot(model), str(FOLDER))
    assert [frames[0].line for frames in places] == lines("Counter")


def test_a_forward_that_only_reads_changes_nothing(tmp_path: Path) -> None:
    eager = prepare(hazard("Linear", tmp_path))
    explore(hazard("Linear", tmp_path), eager)
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
