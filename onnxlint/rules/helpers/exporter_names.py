"""What messages call the exporters."""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}


def named(exporters: Iterable[str]) -> str:
    """`the TorchScript exporter and the dynamo exporter`."""
    return " and ".join(_NAMES[exporter] for exporter in exporters)
