"""ONX214 scale-from-size. Contract: rules/ONX214-scale-from-size.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX214")
def scale_from_size(fact: SizeHazard) -> Iterator[Objection]:
    """Object to a resize by a factor that was computed from a size."""
    if fact.hazard == "scale":
        yield Objection(
            f"the `scale_factor` of `{fact.op}` is computed from a dynamic size: `{fact.text}`",
            "say the size instead: `F.interpolate(x, size=(h, w))`",
            effects=fact.effects,
        )
