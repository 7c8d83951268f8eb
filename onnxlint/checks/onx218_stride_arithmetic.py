"""ONX218 stride-arithmetic. Contract: rules/ONX218-stride-arithmetic.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX218")
def stride_arithmetic(fact: SizeHazard) -> Iterator[Objection]:
    """Object to strides that the trace takes for numbers."""
    if fact.hazard == "strides":
        yield Objection(
            f"`{fact.op}` with strides that follow from dynamic sizes: TorchScript keeps the example's: `{fact.text}`",
            "say which elements: an index of `starts[:, None] + torch.arange(size)`, `reshape`, a convolution",
            effects=fact.effects,
        )
