"""Operators seen one by one, in the bodies of control flow too."""

from __future__ import annotations

from typing import Any

import torch

from onnxlint.probes.common.operator_mode import OperatorMode


class Names(OperatorMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.names.append(func._schema.name)
        return super()._run(func, args, kwargs)


def test_the_arm_that_runs_is_seen_and_the_other_is_not() -> None:
    x = torch.ones(3)
    with Names() as mode:
        y = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
    assert torch.equal(y, x.sin())
    assert "aten::sin" in mode.names
    assert "aten::cos" not in mode.names


def test_keywords_are_passed_on() -> None:
    with Names() as mode:
        total = torch.ones(2, 3).sum(dim=1, keepdim=True)
    assert total.shape == (2, 1)
    assert mode.names[-1] == "aten::sum"
