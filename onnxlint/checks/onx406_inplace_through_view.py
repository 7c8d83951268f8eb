"""ONX406 inplace-through-view. Contract: rules/ONX406-inplace-through-view.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ViewWrite


@check("ONX406")
def inplace_through_view(write: ViewWrite) -> Iterator[Objection]:
    """Object to an in-place write through a view."""
    yield Objection(
        f"`{write.target}` is a view, and the write through it is lost in the TorchScript export",
        "compute the new tensor instead: `torch.where`, `torch.cat`, or `index_put` on a clone",
    )
