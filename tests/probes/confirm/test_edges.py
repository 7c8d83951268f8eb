"""What eager gives that hangs on a rounding error is nobody's fault; what does not is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from probing import hazard, outcomes

from onnxlint.probes.confirm.edges import OtherRounding, OtherTies
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
THIRDS = torch.tensor([1.0, 2.0, 5.0]) / 3


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


def rounded(seed: int = 1) -> torch.Tensor:
    with OtherRounding(seed), torch.no_grad():
        return torch.cat([THIRDS * THIRDS for _ in range(20)])


def test_what_is_rounded_goes_to_a_neighbour_at_the_most() -> None:
    usual = torch.cat([THIRDS * THIRDS for _ in range(20)])
    moved = (rounded() - usual).abs()
    assert 0 < int((moved > 0).sum()) < moved.numel()
    assert float((moved / usual).max()) <= 2 * torch.finfo(torch.float32).eps
    assert torch.equal(rounded(), rounded())
    assert not torch.equal(rounded(), rounded(seed=2))


def test_what_needs_no_rounding_stays() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    with OtherRounding(1), torch.no_grad():
        assert torch.equal(whole + whole, 2 * torch.arange(12.0).reshape(3, 4))
        assert torch.equal(whole @ whole.T, whole.double().mm(whole.double().T).float())
        assert torch.equal(THIRDS.flip(0).clone(), torch.stack([*THIRDS.flip(0)]))
        assert torch.equal(torch.where(THIRDS > 1, THIRDS, -THIRDS).abs(), THIRDS)
        assert THIRDS.argmax().item() == 2


def test_random_numbers_are_those_of_a_run_without_it() -> None:
    torch.manual_seed(0)
    usual = torch.rand(4), torch.rand(4)
    torch.manual_seed(0)
    with OtherRounding(1):
        drawn = torch.rand(4), torch.rand(4)
    assert all(map(torch.equal, usual, drawn))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "outcome", "remark"),
    [
        ("NearestOfSaturated", "ok", "but where a rounding error moves output 0 as far"),
        ("CountAndNearest", "ok", "but where a rounding error moves output 1 as far"),
        ("InverseOfNothing", "ok", "but where a rounding error moves output 0 as far"),
        ("NearestWithoutDoubt", "wrong-values", "differs from eager on"),
        ("NearestAndWrong", "wrong-values", "max abs difference"),
    ],
)
def test_what_only_rounding_decides_is_told_and_is_no_error(
    factory: str, outcome: str, remark: str, tmp_path: Path
) -> None:
    result = run_probe(hazard(factory, tmp_path, "wide_rows", exporters=("torchscript",)))
    assert outcomes(result) == {"torchscript": outcome}
    assert remark in result.report.exporters["torchscript"].detail
