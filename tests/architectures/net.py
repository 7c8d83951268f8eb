"""What the modules of this folder share: a network with its inputs, and the wrappers that fix a calling convention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import operators  # noqa: F401 - transformers and diffusers import torchvision when a class is asked for
import torch
from torch import nn

TOKENS = {"input_ids": "int64[batch, tokens=9]", "attention_mask": "int64[batch, tokens=9]"}


@dataclass(frozen=True)
class Net:
    """How a network is built, and what its forward takes; `ranges` are those of integers that no embedding tells."""

    build: Callable[[], nn.Module]
    inputs: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]] | None = None


def finder(nets: Mapping[str, Net]) -> Callable[[str], Callable[[], nn.Module]]:
    """Return a module's `__getattr__`, by which each of its networks is a factory of that name."""

    def find(name: str) -> Callable[[], nn.Module]:
        if name not in nets:
            raise AttributeError(name)

        def factory() -> nn.Module:
            torch.manual_seed(0)
            return nets[name].build().eval()

        return factory

    return find


class Text(nn.Module):
    """Token ids and their mask in, the first output out."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, **self.options)[0]


class Tokens(nn.Module):
    """Token ids in, the first output out: for models without a mask."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids, **self.options)[0]


class One(nn.Module):
    """One tensor in, the first output out."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x, **self.options)[0]


class Denoiser(nn.Module):
    """A noisy sample and its time step in, and what it is conditioned on where there is such; a tensor out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, sample: torch.Tensor, timestep: torch.Tensor, context: torch.Tensor | None = None
    ) -> torch.Tensor:
        more = () if context is None else (context,)
        return self.model(sample, timestep, *more, return_dict=False)[0]


def image(side: int, channels: int = 3) -> dict[str, str]:
    """One batch of images of a fixed size."""
    return {"x": f"float32[batch, {channels}, {side}, {side}]"}
