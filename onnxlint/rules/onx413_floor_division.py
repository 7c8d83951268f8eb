import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import FloorDivide
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, dotted, has_star, keywords, positional

_TITLE = 'write `torch.div(..., rounding_mode="floor")`'
_DIVISION = 'torch.div({left}, {right}, rounding_mode="floor")'


class FloorDivision(Rule):
    """Object to a quotient that may be negative, which TorchScript rounds to zero."""

    def on_floor_divide(self, node: Node, division: FloorDivide) -> Objections:
        yield Objection(
            f"`{division.text}` rounds down in PyTorch, and to zero in the TorchScript export where it is negative"
        )

    def fix(self, site: Site) -> Fix | None:
        """Safe: it is what `//` means for tensors."""
        node = next((n for n in site.inside(cst.BinaryOperation) if isinstance(n.operator, cst.FloorDivide)), None)
        if node is not None:
            new = site.expression(_DIVISION, left=node.left, right=node.right)
            return site.fix(_TITLE, Safety.SAFE, site.replace(node, new))
        call = site.at_span(cst.Call)
        if call is None or call_name(call) != "floor_divide" or keywords(call) or has_star(call):
            return None
        operands = positional(call)
        if isinstance(call.func, cst.Attribute) and dotted(call.func.value) != "torch":
            operands.insert(0, call.func.value)
        if len(operands) != 2:
            return None
        new = site.expression(_DIVISION, left=operands[0], right=operands[1])
        return site.fix(_TITLE, Safety.SAFE, site.replace(call, new))
