"""What a process that was frozen at a call holds for its probes: the live model with its example."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from onnxlint.probes.exporters import Example


@dataclass(frozen=True, slots=True)
class Taken:
    """What every probe of a snapshot takes."""

    model: torch.nn.Module
    example: Example


_taken: Taken | None = None


def put(model: torch.nn.Module, example: Example) -> None:
    """Keep them for the probes that this process will fork."""
    global _taken
    _taken = Taken(model, example)


def taken() -> Taken:
    """What was put. Only a probe of a live model asks, and it is forked from a process that has it."""
    assert _taken is not None
    return _taken
