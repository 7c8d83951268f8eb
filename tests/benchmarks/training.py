"""Architectures as they are while they are trained: with dropout, and so with answers that change by chance."""

from collections.abc import Callable

import hf_text
import hf_vision
from torch import nn


def __getattr__(name: str) -> Callable[[], nn.Module]:
    if name.startswith("__"):
        raise AttributeError(name)
    build: Callable[[], nn.Module] = getattr(hf_text if name in hf_text.NETS else hf_vision, name)
    return lambda: build().train()
