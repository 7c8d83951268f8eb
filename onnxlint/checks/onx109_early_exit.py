"""ONX109 early-exit. Contract: rules/ONX109-early-exit.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Branch


@check("ONX109")
def early_exit(branch: Branch) -> Iterator[Objection]:
    """Object to a loop that tensor data may leave before its end."""
    if branch.reads == "data" and branch.leaves:
        yield Objection(
            f"`{branch.leaves}` leaves the loop on tensor data: `{branch.text}`; the number of rounds is frozen",
            "run a fixed number of rounds and stop the updates with a flag: `x = torch.where(running, step(x), x)`",
        )
