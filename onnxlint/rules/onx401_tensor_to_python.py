"""ONX401 tensor-to-python. Contract: rules/ONX401-tensor-to-python.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Escape
from onnxlint.records import Outcome, Severity
from onnxlint.rules.rule import Objection, Rule


class TensorToPython(Rule):
    """Object to a tensor read into a Python value that the graph then depends on."""

    code = "ONX401"

    def on_escape(self, node: cst.CSTNode, escape: Escape) -> Iterator[Objection]:
        if escape.source != "data" or escape.numpy or escape.how.startswith("math."):
            return
        if escape.weight:
            yield Objection(
                f"`{escape.text}` reads a weight into a Python value in forward",
                "read it once in `__init__`",
                severity=Severity.NOTE,
                effects={"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR},
            )
            return
        if escape.how == ".tolist()" and escape.exporters == ("dynamo",):
            yield Objection(
                f"`{escape.text}` reads a dynamic axis item by item: dynamo fixes it to the example's size",
                "leave it out of the export, or print the tensor as it is",
                effects={"dynamo": Outcome.EXPORT_ERROR},
            )
            return
        yield Objection(
            f"`{escape.how}` reads a tensor into a Python value: `{escape.text}`; the trace keeps the example's",
            "stay with tensors: arithmetic, indexing and `torch.where` take a 0-d tensor as it is",
        )
