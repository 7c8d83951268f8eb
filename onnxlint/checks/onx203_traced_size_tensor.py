"""ONX203 traced-size-tensor. Contract: rules/ONX203-traced-size-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import TensorFromPython


@check("ONX203")
def traced_size_tensor(tensor: TensorFromPython) -> Iterator[Objection]:
    """Object to a tensor built from Python data at a dynamic size."""
    if tensor.source == "dim":
        yield Objection(
            f"`{tensor.call}` builds a tensor from Python data at a dynamic size: it becomes a constant",
            "build it with an operator: `torch.arange(x.shape[1], device=x.device)`, `torch.full`, `x.new_zeros`",
        )
