import libcst as cst

from onnxlint.base.records import Fix
from onnxlint.flow.state.observations import SizeCheck
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.work_saving_branches import under_guard


class DimAssert(Rule):
    """Object to a check of a size that TorchScript refuses."""

    def on_size_check(self, node: Node, seen: SizeCheck) -> Objections:
        if seen.pins:
            message = (
                f"the {seen.op} holds the dynamic axis `{seen.axis}` to one size: `{seen.text}`; dynamo refuses that"
            )
            yield Objection(message, "declare the axis static, or assert a range", effects=seen.outcomes)
        else:
            yield Objection(
                f"`{seen.op}` on a dynamic size: under TorchScript that is a tensor, which it refuses: `{seen.text}`",
                effects=seen.outcomes,
            )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe: eager and dynamo check as before."""
        statement = site.parent(call)
        if not isinstance(statement, cst.Expr):
            return None
        return under_guard(site, statement, "not torch.jit.is_tracing()", "leave the check out of TorchScript's trace")
