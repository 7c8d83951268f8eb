"""Tries: how much one may compute."""

from __future__ import annotations

import pytest
import torch

from onnxlint.probes.guess import attempts
from onnxlint.probes.guess.model_facts import Slot


def test_other_sizes_may_compute_what_the_first_did_and_some_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "TOO_LARGE", 100)
    monkeypatch.setattr(attempts, "SLOW", -1.0)
    bench = attempts.Bench(torch.nn.ReLU(), 60, 20.0, limit=100)
    assert bench.run({"input": Slot("float32", (20, 8))}).error is None
    assert bench.run({"input": Slot("float32", (70, 8))}).error is None
    assert "numbers of this input" in str(bench.run({"input": Slot("float32", (90, 8))}).error)
