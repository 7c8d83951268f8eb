"""ONX112 dim-assert. Contract: rules/ONX112-dim-assert.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.rules.rule import Objection, Rule


class DimAssert(Rule):
    """Object to a check of a size that TorchScript refuses."""

    code = "ONX112"

    def on_size_hazard(self, node: cst.CSTNode, fact: SizeHazard) -> Iterator[Objection]:
        if fact.hazard == "check":
            yield Objection(
                f"`{fact.op}` on a dynamic size: under TorchScript that is a tensor, which it refuses: `{fact.text}`",
                "write a plain `assert`, or put the check under `if not torch.jit.is_tracing():`",
                effects=fact.effects,
            )
        elif fact.hazard == "pinned":
            yield Objection(
                f"the {fact.op} holds the dynamic axis `{fact.axis}` to one size: `{fact.text}`; dynamo refuses that",
                "declare the axis static, or assert a range",
                effects=fact.effects,
            )
