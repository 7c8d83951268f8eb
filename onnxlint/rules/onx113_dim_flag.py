"""ONX113 dim-flag. Contract: rules/ONX113-dim-flag.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import SizeFlag
from onnxlint.rules.engine.rule import Objection, Rule


class DimFlag(Rule):
    """Object to a comparison of sizes that an operator takes for a Python bool."""

    code = "ONX113"

    def on_size_flag(self, node: cst.CSTNode, seen: SizeFlag) -> Iterator[Objection]:
        yield Objection(
            f"`{seen.parameter}` of `{seen.op}` is a comparison of a dynamic size, and not a bool during an export",
            "take the flag from the constructor, or write the choice as a mask made with `torch.arange`",
        )
