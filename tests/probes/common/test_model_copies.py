"""Copies of models: what hooks and replaced methods hold belongs to the copy, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from onnxlint.probes.common.model_copies import copied


class Taps:
    """Keeps what a layer gives."""

    def __init__(self, layer: nn.Module) -> None:
        self.kept: dict[str, torch.Tensor] = {}
        layer.register_forward_hook(self.keep("body"))

    def keep(self, name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: object, output: torch.Tensor) -> None:
            self.kept[name] = output

        return hook


class Tapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.taps = Taps(self.body)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.body(x)
        return self.taps.kept.pop("body") * 2


class Patched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(3, 3)
        plain = self.body.forward
        body = self.body

        def forward(x: torch.Tensor) -> torch.Tensor:
            return plain(x) + body.bias

        self.body.forward = forward  # type: ignore[method-assign]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.body(x)
        return out


@pytest.mark.parametrize("kind", [Tapped, Patched])
def test_a_copy_computes_with_its_own_weights(kind: type[nn.Module]) -> None:
    model = kind().eval()
    x = torch.randn(2, 3)
    expected = model(x)
    twin = copied(model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    assert torch.equal(twin(x), expected)
    assert not torch.equal(model(x), expected)


def test_a_copy_leaves_the_original_alone() -> None:
    model = Tapped()
    twin = copied(model)
    twin.body(torch.ones(1, 3))
    assert model.taps.kept == {}
    assert set(twin.taps.kept) == {"body"}


def test_a_closure_that_holds_itself() -> None:
    model = nn.Linear(2, 2)

    def hook(module: nn.Module, args: object, output: torch.Tensor) -> torch.Tensor:
        return output + model.weight.sum() if callable(hook) else output

    model.register_forward_hook(hook)
    twin = copied(model)
    expected = model(torch.ones(1, 2))
    with torch.no_grad():
        model.weight.zero_()
    assert torch.allclose(twin(torch.ones(1, 2)), expected)
