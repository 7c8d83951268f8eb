"""ONX309 bypassed-hooks. Contract: rules/ONX309-bypassed-hooks.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX309")
def bypassed_hooks(call: OpCall) -> Iterator[Objection]:
    """Object to `layer.forward(x)` on a layer whose weight a hook computes."""
    if call.hazard == "bypassed-hooks":
        yield Objection(
            f"`{call.text}` goes past the hook that computes the layer's weight: the weight is a stale constant",
            "call the module itself: `layer(x)`",
        )
