"""ONX403 tensor-from-tensor. Contract: rules/ONX403-tensor-from-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import TensorFromPython
from onnxlint.rules.rule import Objection, Rule


class TensorFromTensor(Rule):
    """Object to a tensor constructor that copies the data of another tensor."""

    code = "ONX403"

    def on_tensor_from_python(self, node: cst.CSTNode, tensor: TensorFromPython) -> Iterator[Objection]:
        if tensor.source == "tensor":
            yield Objection(
                f"`{tensor.call}` copies the value of a tensor into a new one: it becomes a constant",
                "use the tensor itself, `.clone()`, or `torch.stack([...])` for several",
            )
