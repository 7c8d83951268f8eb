"""ONNX Runtime's optimizer takes a padding of zeros for one of a pooling: the place is named, and no other."""

from __future__ import annotations

import inspect
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from onnxlint.probes.engines import ORT
from onnxlint.probes.exporters import torchscript
from onnxlint.probes.optimizer import spoilt

FOLDER = Path(__file__).parent


class Pooled(nn.Module):
    """The maximum of a padded window is 0 at the border where all values are negative; fused, it is one of these."""

    def __init__(self, fill: float) -> None:
        super().__init__()
        self.fill = fill
        self.mix = nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = -self.mix(x).abs() - 1
        padded = F.pad(h, (1, 1, 1, 1), value=self.fill)
        pooled = F.max_pool2d(padded, 3, 2)  # here
        return torch.tanh(pooled) * 2


def place(fill: float, folder: Path) -> tuple[int, ...]:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    done = torchscript.export(Pooled(fill), ["x"], (x,), {}, {}, 20, folder, str(FOLDER))
    assert done.path is not None
    return tuple(frame.line for frame in spoilt(done.path, {"x": x.numpy()}, str(FOLDER), ORT))[:1]


def test_the_value_that_the_optimizer_changes_is_named(tmp_path: Path) -> None:
    lines, first = inspect.getsourcelines(Pooled.forward)
    here = first + next(number for number, line in enumerate(lines) if line.endswith("# here\n"))
    assert place(0.0, tmp_path) == (here,)


def test_where_it_changes_nothing_no_place_is_named(tmp_path: Path) -> None:
    assert place(float("-inf"), tmp_path) == ()
