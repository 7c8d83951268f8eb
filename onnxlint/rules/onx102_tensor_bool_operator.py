import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import BoolOperator
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, operand
from onnxlint.rules.helpers.value_kinds import Values, condition


class TensorBoolOperator(Rule):
    """Object to an operator that asks a tensor for its truth."""

    def on_bool_operator(self, node: Node, operator: BoolOperator) -> Objections:
        if not operator.builtin:
            yield Objection(f"`{_word(node)}` turns a tensor into one Python bool: `{self.source(node)}`")

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: both operands are always computed, and a boolean tensor comes out instead of a Python bool."""
        node = site.at_span(cst.BaseExpression)
        if not isinstance(node, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
            return None
        new = (_membership(site, node) if isinstance(node, cst.Comparison) else None) or condition(Values(site), node)
        if new is None:
            return None
        code = " ".join(site.tree.code(new).split())
        return site.fix(f"stay in the graph: `{code}`", Safety.UNSAFE, site.replace_whole(node, new))


def _word(node: cst.CSTNode) -> str:
    match node:
        case cst.BooleanOperation():
            return "and" if isinstance(node.operator, cst.And) else "or"
        case cst.Comparison(comparisons=[_]):
            return "in"
    return "chained comparison" if isinstance(node, cst.Comparison) else "not"


def _membership(site: Site, node: cst.Comparison) -> cst.BaseExpression | None:
    """`value in tensor`."""
    match node.comparisons:
        case [cst.ComparisonTarget(cst.In() | cst.NotIn() as operator, values)] if Values(site).is_tensor(values):
            template = "({values} == {value}).any()"
            if isinstance(operator, cst.NotIn):
                template = f"torch.logical_not({template})"
            return site.expression(template, values=operand(values), value=operand(node.left))
    return None
