"""ONX221 attention-length. Contract: rules/ONX221-attention-length.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import SizeHazard


@check("ONX221")
def attention_length(fact: SizeHazard) -> Iterator[Objection]:
    """Object to an attention of torch.nn over a dynamic length, which TorchScript's exporter fixes."""
    if fact.hazard == "attention":
        yield Objection(
            f"`{fact.op}` over a dynamic length: the TorchScript export takes the example's length alone",
            "give query, key and value to `F.scaled_dot_product_attention` yourself, or use the dynamo exporter",
            effects=fact.effects,
        )
