"""ONX207 data-dependent-size. Contract: rules/ONX207-data-dependent-size.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import DataSize
from onnxlint.rules.engine.rule import Objection, Rule


class DataDependentSize(Rule):
    """Object to a size that is the largest value in a tensor."""

    code = "ONX207"

    def on_data_size(self, node: cst.CSTNode, seen: DataSize) -> Iterator[Objection]:
        yield Objection(
            f"without `num_classes` the size of `{seen.op}` is read from the data: `{seen.text}`",
            "give the number of classes: `F.one_hot(x, num_classes=self.classes)`",
        )
