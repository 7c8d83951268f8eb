"""ONX107 dim-loop. Contract: rules/ONX107-dim-loop.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Loop


@check("ONX107")
def dim_loop(loop: Loop) -> Iterator[Objection]:
    """Object to a loop that runs as often as a dynamic axis is long."""
    if loop.over == "dim":
        yield Objection(
            f"the loop runs once per element of a dynamic axis: `{loop.text}`; it is unrolled for the example's size",
            "index or reduce the whole axis with tensor operators instead of looping over it",
        )
