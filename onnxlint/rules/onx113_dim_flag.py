"""ONX113 dim-flag. Contract: rules/ONX113-dim-flag.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeHazard
from onnxlint.rules.engine.rule import Objection, Rule


class DimFlag(Rule):
    """Object to a comparison of sizes that an operator takes for a Python bool."""

    code = "ONX113"

    def on_size_hazard(self, node: cst.CSTNode, seen: SizeHazard) -> Iterator[Objection]:
        if seen.hazard == "flag":
            yield Objection(
                f"`{seen.detail}` of `{seen.op}` is a comparison of a dynamic size, and not a bool during an export",
                "take the flag from the constructor, or write the choice as a mask made with `torch.arange`",
                effects=seen.effects,
            )
