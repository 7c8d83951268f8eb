"""ONX104 tensor-iteration. Contract: rules/ONX104-tensor-iteration.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Loop


@check("ONX104")
def tensor_iteration(loop: Loop) -> Iterator[Objection]:
    """Object to Python iteration over a tensor along an axis that may change its size."""
    if loop.over == "tensor":
        yield Objection(
            f"a Python loop runs over the tensor `{loop.text}`: it is unrolled for the size of the example",
            "work on the whole tensor at once (batched operators, `torch.vmap`) instead of item by item",
        )
