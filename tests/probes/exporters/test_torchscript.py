"""A default of None is no reason to leave a model untraced: what was frozen in it is still found, and who is wrong."""

from __future__ import annotations

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
