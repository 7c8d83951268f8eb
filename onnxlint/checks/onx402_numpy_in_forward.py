"""ONX402 numpy-in-forward. Contract: rules/ONX402-numpy-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Escape


@check("ONX402")
def numpy_in_forward(escape: Escape) -> Iterator[Objection]:
    """Object to numpy on tensor data in what is exported."""
    if escape.numpy:
        yield Objection(
            f"`{escape.text}` leaves torch for numpy: what comes back is a constant of the graph",
            "use the torch operator of the same name",
        )
