"""ONX209 dynamic-split. Contract: rules/ONX209-dynamic-split.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeSplit
from onnxlint.rules.engine.rule import Objection, Rule


class DynamicSplit(Rule):
    """Object to pieces whose number or length follows a dynamic size."""

    code = "ONX209"

    def on_size_split(self, node: cst.CSTNode, seen: SizeSplit) -> Iterator[Objection]:
        yield Objection(
            f"`{seen.op}` cuts a dynamic axis: number and length of the pieces are the example's: `{seen.text}`",
            "reshape to a new axis and work on all pieces at once; for two halves take two slices",
            effects=seen.outcomes,
        )
