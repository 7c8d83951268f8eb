"""Whether dynamo's operators have a translation, by what they are made of."""

from __future__ import annotations

import pytest
import torch
from torch.onnx._internal.exporter import _registration

from onnxlint.probes.exporters.next_refusals import translatable


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


@pytest.mark.parametrize(("model", "expected"), [(Parts(), True), (Foreign(), False)])
def test_operators_are_known_by_what_they_are_made_of(model: torch.nn.Module, expected: bool) -> None:
    program = torch.export.export(model, (torch.ones(2, 3, 3),))
    assert translatable(program, _registration.ONNXRegistry.from_torchlib(opset_version=18)) is expected
