"""ONNX Runtime's optimizer takes a padding of zeros for one of a pooling: the place is named, and no other."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from onnxlint.probes.confirm.engines import ORT
from onnxlint.probes.explain.localise import Exported, spoilt
from onnxlint.probes.exporters import Example, torchscript

FOLDER = Path(__file__).parents[1]


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


class Standardised(Pooled):
    """Behind the pooling, many layers whose weights are computed in the graph, and right: no chain leads there."""

    def __init__(self, fill: float) -> None:
        super().__init__(fill)
        self.layers = nn.ModuleList(nn.Conv2d(4, 4, 1) for _ in range(24))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = super().forward(x)
        for layer in self.layers:
            weight = F.batch_norm(layer.weight.reshape(1, 4, -1), None, None, training=True).reshape_as(layer.weight)
            h = torch.tanh(F.conv2d(h, weight + weight.sin() * 2, layer.bias)) + h
        return h


def place(fill: float, folder: Path, model: type[Pooled] = Pooled) -> tuple[int, ...]:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    done = torchscript.export(model(fill), Example((x,), {}, ("x",)), 20, folder, str(FOLDER))
    assert done.path is not None
    exported = Exported(done.path, {"x": x.numpy()}, str(FOLDER), ORT)
    return tuple(frame.line for frame in spoilt(exported))[:1]


@pytest.mark.parametrize("model", [Pooled, Standardised])
def test_the_value_that_the_optimizer_changes_is_named(model: type[Pooled], tmp_path: Path) -> None:
    lines, first = inspect.getsourcelines(Pooled.forward)
    here = first + next(number for number, line in enumerate(lines) if line.endswith("# here\n"))
    assert place(0.0, tmp_path, model) == (here,)


def test_where_it_changes_nothing_no_place_is_named(tmp_path: Path) -> None:
    assert place(float("-inf"), tmp_path) == ()
