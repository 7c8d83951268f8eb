"""Which line makes a call that TorchScript has no operator for."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn

from onnxlint.probes.exporters import Example, torchscript

FOLDER = Path(__file__).parent


class Joined(nn.Module):
    """Joins a mask with a flag of its own; the other lines are fine."""

    def __init__(self, joined: str) -> None:
        super().__init__()
        self.joined = joined

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = (x > 0) | (x < -1)
        if self.joined == "or":
            mask = mask | True
        elif self.joined == "turned":
            mask = False | mask
        elif self.joined == "and":
            mask = mask & True
        elif self.joined == "size":
            mask = mask & ((x.shape[0] > 2) | (x.dim() > 9))
        return x * mask


@pytest.mark.parametrize(
    ("joined", "line"),
    [
        ("or", "mask = mask | True"),
        ("turned", "mask = False | mask"),
        ("and", "mask = mask & True"),
        ("size", "mask = mask & ((x.shape[0] > 2) | (x.dim() > 9))"),
    ],
)
def test_the_line_with_the_flag_is_named(joined: str, line: str, tmp_path: Path) -> None:
    done = torchscript.export(Joined(joined), Example((torch.randn(3, 4),), {}, ("x",)), 20, tmp_path, str(FOLDER))
    assert done.path is None
    (refusal,) = done.refusals
    lines, first = inspect.getsourcelines(Joined.forward)
    assert refusal.frames[0].line == first + [text.strip() for text in lines].index(line)
    assert "a Tensor and a bool" in refusal.message


def test_two_tensors_are_exported(tmp_path: Path) -> None:
    done = torchscript.export(Joined("no"), Example((torch.randn(3, 4),), {}, ("x",)), 20, tmp_path, str(FOLDER))
    assert done.path is not None
