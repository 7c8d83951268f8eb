import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, elements, literal, names_in, positional, same, tight, variables
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.value_kinds import assigned
from onnxlint.rules.helpers.work_saving_branches import branch_of, only_assignment, without_question

_TITLE = "pad always, by an amount that may be zero"


class PaddingBranch(Rule):
    """Object to a branch that pads only where a division leaves a rest."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form == "padding":
            yield Objection(
                f"the {keyword_of(self, node)} asks whether a dynamic size needs padding: `{self.source(node)}`; the"
                " answer is frozen",
                "pad always, by an amount that may be zero: `F.pad(x, (0, -n % k))`",
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: the amount is zero exactly where the question was answered with no."""
        branch = branch_of(site)
        if not isinstance(branch, cst.If):
            return None
        if pads_only(site, branch):
            return without_question(site, branch, _TITLE, Safety.SAFE)
        padding, asked = _pad_in(branch), _asked_for(branch.test)
        if padding is None or asked is None:
            return None
        body = _by_rest(site, branch, asked, padding)
        return without_question(site, branch, _TITLE, Safety.SAFE, body) if body is not None else None


def _by_rest(
    site: Site, branch: cst.If, asked: cst.BaseExpression, padding: cst.BaseExpression
) -> cst.BaseSuite | None:
    """`if n % k: pad by k - n % k`: pad by `-n % k`."""
    rest = _rest(site, asked)
    if rest is None:
        return None
    wanted = site.expression("{parts} - {rest}", parts=tight(rest.right), rest=tight(asked))
    missing = [n for n in walk(padding) if isinstance(n, cst.BinaryOperation) and same(n, wanted)]
    if len(missing) != 1 or len([*variables(padding)]) != len([*variables(missing[0])]):
        return None
    amount = site.expression("-{length} % {parts}", length=tight(rest.left), parts=tight(rest.right))
    amount = amount.with_changes(lpar=missing[0].lpar, rpar=missing[0].rpar)
    body = branch.body.deep_replace(missing[0], amount)
    return body if isinstance(body, cst.BaseSuite) else None


def pads_only(site: Site, branch: cst.If) -> bool:
    """Whether the body is one `pad` by the amounts that the test asks for, none of which is ever below zero."""
    names, sizes = amounts(branch.test), elements(_pad_in(branch)) or []
    padded = names_in(*(size for size in sizes if isinstance(size, cst.Name)))
    return (
        names is not None
        and all(isinstance(size, cst.Name) or literal(size) == 0 for size in sizes)
        and bool(padded)
        and padded <= names_in(*names)
        and None not in [_rest(site, name) for name in names]
    )


def amounts(test: cst.BaseExpression) -> list[cst.Name] | None:
    """The variables of `p > 0 or q > 0`, `p or q`, `p != 0`; None for any other test."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        left, right = amounts(test.left), amounts(test.right)
        return None if left is None or right is None else left + right
    amount = _asked_for(test)
    return [amount] if isinstance(amount, cst.Name) else None


def _asked_for(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is asked for being other than zero: `n`, `n != 0`, `n > 0`; None for another comparison."""
    if not isinstance(test, cst.Comparison):
        return test
    (target, *more) = test.comparisons
    asks = isinstance(target.operator, (cst.NotEqual, cst.GreaterThan)) and literal(target.comparator) == 0
    return test.left if asks and not more else None


def _rest(site: Site, node: cst.BaseExpression) -> cst.BinaryOperation | None:
    """What a division leaves, given as it is or by a variable, and so never below zero: `-n % k`, `(k - n % k) % k`."""
    values = list(assigned(site, node)) if isinstance(node, cst.Name) else [node]
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo) else None


def _pad_in(branch: cst.If) -> cst.BaseExpression | None:
    """The amounts of the one `pad` that a branch does."""
    statement = only_assignment(branch)
    call = statement.value if statement is not None else None
    operands = positional(call) if isinstance(call, cst.Call) and call_name(call) == "pad" else []
    return operands[1] if len(operands) > 1 else None
