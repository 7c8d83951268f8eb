"""What a choice among equal values decides is nobody's fault; what it has no part in is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from probing import BATCH, hazard, outcomes

from onnxlint.probes.confirm.trials import OtherTies
from onnxlint.probes.process.worker import run_probe

ROWS = torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
CHOICES: list[tuple[Callable[[torch.Tensor], Any], int]] = [
    (lambda x: x.topk(2), 1),
    (lambda x: torch.topk(x, k=2, dim=1, largest=False, sorted=True), 1),
    (lambda x: torch.topk(x, 1, 0), 0),
    (torch.sort, 1),
    (lambda x: x.sort(dim=0, descending=True), 0),
    (lambda x: torch.sort(x, stable=False, dim=-1), 1),
]


@pytest.mark.parametrize(("choose", "dim"), CHOICES)
def test_the_other_choice_has_the_same_values_from_where_its_indices_say(
    choose: Callable[[torch.Tensor], Any], dim: int
) -> None:
    expected, _ = choose(ROWS)
    with OtherTies(), torch.no_grad():
        values, indices = choose(ROWS)
    assert torch.equal(values, expected)
    assert torch.equal(ROWS.gather(dim, indices), values)


def test_equal_values_come_in_another_order_where_the_order_is_no_promise() -> None:
    with OtherTies(), torch.no_grad():
        assert ROWS.argsort()[1].tolist() == [3, 2, 1, 0]
        assert ROWS.sort(stable=True).indices[1].tolist() == [0, 1, 2, 3]
        assert ROWS.argmax(-1).tolist() == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("factory", "torchscript"), [("ChosenAmongEqual", "ok"), ("ChosenAndWrong", "wrong-values")])
def test_what_is_chosen_among_equal_values_is_no_error(factory: str, torchscript: str, tmp_path: Path) -> None:
    probe = hazard(factory, tmp_path, "many_rows", BATCH, exporters=("torchscript",))
    assert outcomes(run_probe(probe)) == {"torchscript": torchscript}
