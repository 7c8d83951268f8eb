import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, indices, literal, same
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.size_expressions import Axis, axis_of, same_axis
from onnxlint.rules.helpers.work_saving_branches import (
    branch_of,
    crops_only,
    only_assignment,
    pads_only,
    without_question,
)


class DimBranch(Rule):
    """Object to a branch on a size that may change after the export."""

    safety = Safety.SAFE

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form not in ("equal", "padding"):
            yield Objection(
                f"the {keyword_of(self, node)} branches on a dynamic size: `{self.source(node)}`; the export"
                " keeps the example's arm",
                "write one computation that holds for every size (pad, slice, clamp), or keep that axis static",
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: a slice that ends behind the last element, or begins before the first one, is the tensor itself."""
        branch = branch_of(site)
        statement = only_assignment(branch) if isinstance(branch, cst.If) else None
        if not isinstance(branch, cst.If) or statement is None:
            return None
        if pads_only(site, branch):
            return without_question(site, branch, "pad always, by an amount that may be zero", Safety.SAFE)
        if crops_only(branch):
            return without_question(site, branch, "cut always: to its own size it changes nothing", Safety.UNSAFE)
        asked, cut = _longer_than(site, branch.test), _cut(statement)
        if asked is None or cut is None or not same_axis(asked[0], cut[0]) or not same(asked[1], cut[1]):
            return None
        number = literal(asked[1])
        if number is not None and number < 1:
            return None
        return without_question(site, branch, "slice always: it keeps what there is", Safety.SAFE)


def _longer_than(site: Site, test: cst.BaseExpression) -> tuple[Axis, cst.BaseExpression] | None:
    """`x.shape[1] > n`, either way round."""
    match test:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.GreaterThan() | cst.GreaterThanEqual(), right)]):
            pass
        case cst.Comparison(right, [cst.ComparisonTarget(cst.LessThan() | cst.LessThanEqual(), left)]):
            pass
        case _:
            return None
    axis = axis_of(site, left)
    return None if axis is None or axis_of(site, right) is not None else (axis, right)


def _cut(statement: cst.Assign) -> tuple[Axis, cst.BaseExpression] | None:
    """`x = x[:, :n]` or `x = x[:, -n:]`: the variable, the axis, and the one bound, without its sign."""
    value = statement.value
    if not (isinstance(value, cst.Subscript) and isinstance(value.value, cst.Name)):
        return None
    if not same(value.value, statement.targets[0].target):
        return None
    bounds: list[tuple[Axis, cst.BaseExpression]] = []
    for at, part in enumerate(indices(value)):
        match part:
            case cst.Slice(None, None, step=None):
                continue
            case cst.Slice(None, cst.BaseExpression() as end, step=None) if not _negative(end):
                bounds.append(((value.value, at), end))
            case cst.Slice(cst.UnaryOperation(cst.Minus(), amount), None, step=None):
                bounds.append(((value.value, at), amount))
            case _:
                return None
    return bounds[0] if len(bounds) == 1 else None


def _negative(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)
