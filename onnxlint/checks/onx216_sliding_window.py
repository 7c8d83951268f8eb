"""ONX216 sliding-window. Contract: rules/ONX216-sliding-window.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX216")
def sliding_window(fact: SizeHazard) -> Iterator[Objection]:
    """Object to windows whose number follows a dynamic size."""
    if fact.hazard == "window":
        yield Objection(
            f"`{fact.op}` over a dynamic axis: TorchScript has to know how many windows there are: `{fact.text}`",
            "gather by an index of `starts[:, None] + torch.arange(size)`, or export with dynamo",
            effects=fact.effects,
        )
