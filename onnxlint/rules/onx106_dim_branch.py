import libcst as cst

from onnxlint.base.records import Fix, Safety, Severity
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, indices, literal, same
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.padding_amounts import amounts, pads_only
from onnxlint.rules.helpers.size_expressions import axis_of
from onnxlint.rules.helpers.work_saving_branches import branch_of, only_assignment, without_question

_UNDECLARED = "?1"  # the second axis, of which only its place says that it may be dynamic
Bound = tuple[cst.BaseExpression, int, cst.BaseExpression]  # of a tensor's axis


class DimBranch(Rule):
    """Object to a branch on a size that may change after the export."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form not in ("equal", "padding") and not _asks_for_colours(node, branch):
            yield Objection(
                f"the {keyword_of(self, node)} branches on a dynamic size: `{self.source(node)}`; the export"
                " keeps the example's arm",
                severity=Severity.NOTE if branch.form == "short" else None,
                about="caches" if branch.form == "table" else branch.axes and f"branches on {branch.axes}",
                hints={"does": branch.does, **({"follows": 1} if branch.form == "table" else {})},
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: a slice that ends behind the last element, or begins before the first one, is the tensor itself."""
        if site.hint("does") not in ("", "one"):
            return None
        branch = branch_of(site)
        statement = only_assignment(branch)
        if not isinstance(branch, cst.If) or statement is None:
            return None
        if pads_only(site, branch):
            return without_question(site, branch, "pad always, by an amount that may be zero", Safety.SAFE)
        if amounts(branch.test) is not None and _crops_only(statement):
            return without_question(site, branch, "cut always: to its own size it changes nothing", Safety.UNSAFE)
        cut = _cut(statement)
        asked = _longer_than(site, branch.test) if cut is not None else None
        if asked is None or cut is None or asked[1] != cut[1] or not all(map(same, asked[::2], cut[::2])):
            return None
        number = literal(asked[2])
        if number is not None and number < 1:
            return None
        return without_question(site, branch, "slice always: it keeps what there is", Safety.SAFE)


def _asks_for_colours(node: Node, branch: Branch) -> bool:
    """`channels == 3`, of an axis that nobody declared to be dynamic."""
    if branch.axes != _UNDECLARED or not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return False
    asked = node.comparisons[0]
    return isinstance(asked.operator, (cst.Equal, cst.NotEqual)) and literal(asked.comparator) in (3, 4)


def _longer_than(site: Site, test: cst.BaseExpression) -> Bound | None:
    """`x.shape[1] > n`, either way round."""
    match test:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.GreaterThan() | cst.GreaterThanEqual(), right)]):
            pass
        case cst.Comparison(right, [cst.ComparisonTarget(cst.LessThan() | cst.LessThanEqual(), left)]):
            pass
        case _:
            return None
    axis = axis_of(site, left)
    return None if axis is None or axis_of(site, right) is not None else (*axis, right)


def _cut(statement: cst.Assign) -> Bound | None:
    """`x = x[:, :n]` or `x = x[:, -n:]`: the variable, the axis, and the one bound, without its sign."""
    value = statement.value
    if not (isinstance(value, cst.Subscript) and isinstance(value.value, cst.Name)):
        return None
    if not same(value.value, statement.targets[0].target):
        return None
    bounds: list[Bound] = []
    for at, part in enumerate(indices(value)):
        match part:
            case cst.Slice(None, None, step=None):
                continue
            case cst.Slice(None, cst.UnaryOperation(cst.Minus()), step=None):
                return None
            case cst.Slice(None, cst.BaseExpression() as end, step=None):
                bounds.append((value.value, at, end))
            case cst.Slice(cst.UnaryOperation(cst.Minus(), amount), None, step=None):
                bounds.append((value.value, at, amount))
            case _:
                return None
    return bounds[0] if len(bounds) == 1 else None


def _crops_only(statement: cst.Assign) -> bool:
    """Whether a variable is only cut to sizes: `x = x[:, :h, :w].contiguous()`."""
    value = statement.value
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and call_name(value) == "contiguous":
        value = value.func.value
    if not isinstance(value, cst.Subscript) or len(value.slice) < 2:
        return False
    return same(value.value, statement.targets[0].target) and all(_is_end(e.slice) for e in value.slice)


def _is_end(part: cst.BaseSlice) -> bool:
    """`:n`, where `n` is not counted from behind."""
    if not isinstance(part, cst.Slice) or part.lower is not None or part.step is not None:
        return False
    return not isinstance(part.upper, cst.UnaryOperation)
