"""Models with defaults of None are traced, and the line is named whose call TorchScript has no operator for."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import torch

import onnxlint
from onnxlint.probes.exporters import Example, torchscript


class Optional(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, mask=None, scale=None):
        y = self.linear(x)
        if mask is not None:
            y = y * mask
        return y if scale is None else y * scale


class Attention(torch.nn.Module):
    """torch's own attention, whose lowering keeps the example's sizes under TorchScript."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, mask=None):
        return self.attention(x, x, x, key_padding_mask=mask, need_weights=False)[0] + x


def test_none_in_the_middle_is_given() -> None:
    x = torch.rand(2, 4)
    graph, _ = torchscript.trace(Optional(), Example((x,), {"scale": torch.ones(1)}, ("x", "scale")), "/")
    assert len(list(graph.inputs())) == 3  # the module and two tensors
    assert [n.kind() for n in graph.nodes() if n.kind() in ("aten::linear", "aten::mul")] == [
        "aten::linear",
        "aten::mul",
    ]


@pytest.mark.slow
def test_the_traced_graph_is_asked_and_a_size_is_no_missing_kernel() -> None:
    result = onnxlint.check_model(
        Attention().eval(), (torch.rand(2, 6, 16),), dynamic={"x": {0: "batch", 1: "time"}}, exporters="torchscript"
    )
    text = str(result)
    assert "ONX706" not in text
    assert "fails on other sizes" in text
    assert "PyTorch, traced graph | ONNX Runtime" in text


FOLDER = Path(__file__).parent


class Joined(torch.nn.Module):
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
        elif self.joined == "equal":
            mask = mask == False  # noqa: E712 - as it is written in models
        elif self.joined == "full":
            mask = torch.full((3, 4), True) & mask
        elif self.joined == "divided":
            mask = True / (x + 9)
        elif self.joined == "masked":
            mask = x.masked_fill(mask, False)
        return x * mask


@pytest.mark.parametrize(
    ("joined", "line"),
    [
        ("or", "mask = mask | True"),
        ("turned", "mask = False | mask"),
        ("and", "mask = mask & True"),
        ("size", "mask = mask & ((x.shape[0] > 2) | (x.dim() > 9))"),
        ("equal", "mask = mask == False  # noqa: E712 - as it is written in models"),
        ("full", "mask = torch.full((3, 4), True) & mask"),
        ("divided", "mask = True / (x + 9)"),
        ("masked", "mask = x.masked_fill(mask, False)"),
    ],
)
def test_the_line_with_the_flag_is_named(joined: str, line: str, tmp_path: Path) -> None:
    done = torchscript.export(Joined(joined), Example((torch.randn(3, 4),), {}, ("x",)), 20, tmp_path, str(FOLDER))
    assert done.path is None
    (refusal,) = done.refusals
    lines, first = inspect.getsourcelines(Joined.forward)
    assert refusal.frames[0].line == first + [text.strip() for text in lines].index(line)
    assert re.search(r"` of (a Tensor|an int\[\]|a Tensor and a Tensor) and a bool$", refusal.message)


def test_two_tensors_are_exported(tmp_path: Path) -> None:
    done = torchscript.export(Joined("no"), Example((torch.randn(3, 4),), {}, ("x",)), 20, tmp_path, str(FOLDER))
    assert done.path is not None
