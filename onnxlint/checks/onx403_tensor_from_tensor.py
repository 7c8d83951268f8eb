"""ONX403 tensor-from-tensor. Contract: rules/ONX403-tensor-from-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import TensorFromPython


@check("ONX403")
def tensor_from_tensor(tensor: TensorFromPython) -> Iterator[Objection]:
    """Object to a tensor constructor that copies the data of another tensor."""
    if tensor.source == "tensor":
        yield Objection(
            f"`{tensor.call}` copies the value of a tensor into a new one: it becomes a constant",
            "use the tensor itself, `.clone()`, or `torch.stack([...])` for several",
        )
