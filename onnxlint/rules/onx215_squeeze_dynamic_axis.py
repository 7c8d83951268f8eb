"""ONX215 squeeze-dynamic-axis. Contract: rules/ONX215-squeeze-dynamic-axis.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeHazard
from onnxlint.rules.engine.rule import Objection, Rule


class SqueezeDynamicAxis(Rule):
    """Object to a squeeze that depends on the size of a dynamic axis."""

    code = "ONX215"

    def on_size_hazard(self, node: cst.CSTNode, seen: SizeHazard) -> Iterator[Objection]:
        if seen.hazard == "squeeze-axis" and seen.certain:  # in an arm that a size chose, the size is known
            yield Objection(
                f"`squeeze({seen.detail})` removes a dynamic axis or keeps it, as its size is one or not:"
                f" `{seen.text}`",
                "keep the axis, or take the item that is meant: `x[0]`",
                effects=seen.effects,
            )
