"""ONX112 dim-assert. Contract: rules/ONX112-dim-assert.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import SizeHazard
from onnxlint.records import Fix, Safety
from onnxlint.rules.guards import under_guard
from onnxlint.rules.rule import Objection, Rule
from onnxlint.rules.site import Site


class DimAssert(Rule):
    """Object to a check of a size that TorchScript refuses."""

    code = "ONX112"
    safety = Safety.SAFE

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

    def fix(self, site: Site) -> Fix | None:
        """Safe: eager and dynamo check as before."""
        call = site.at_span(cst.Call)
        statement = site.parent(call) if call is not None else None
        guarded = (
            under_guard(site, statement, "not torch.jit.is_tracing()") if isinstance(statement, cst.Expr) else None
        )
        return site.fix("leave the check out of TorchScript's trace", Safety.SAFE, guarded) if guarded else None
