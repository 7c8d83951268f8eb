"""ONX109 early-exit. Contract: rules/ONX109-early-exit.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Branch
from onnxlint.rules.rule import Objection, Rule


class EarlyExit(Rule):
    """Object to a loop that tensor data may leave before its end."""

    code = "ONX109"

    def on_branch(self, node: cst.CSTNode, branch: Branch) -> Iterator[Objection]:
        if branch.reads == "data" and branch.leaves:
            yield Objection(
                f"`{branch.leaves}` leaves the loop on tensor data: `{branch.text}`; the number of rounds is frozen",
                "run a fixed number of rounds and stop the updates with a flag: `x = torch.where(running, step(x), x)`",
            )
