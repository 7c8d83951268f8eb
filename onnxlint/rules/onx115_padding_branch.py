import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, same, tight, variables
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.padding_amounts import asked_for, padding_in, pads_only, remainder
from onnxlint.rules.helpers.work_saving_branches import branch_of, without_question

_TITLE = "pad always, by an amount that may be zero"


class PaddingBranch(Rule):
    """Object to a branch that pads only where a division has a remainder."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form == "padding":
            yield Objection(
                f"the {keyword_of(self, node)} asks whether a dynamic size needs padding: `{self.source(node)}`; the"
                " answer is frozen"
            )

    def fix(self, site: Site) -> Fix | None:
        """Safe: the amount is zero exactly where the question was answered with no."""
        branch = branch_of(site)
        if not isinstance(branch, cst.If):
            return None
        if pads_only(site, branch):
            return without_question(site, branch, _TITLE, Safety.SAFE)
        padding, asked = padding_in(branch), asked_for(branch.test)
        if padding is None or asked is None:
            return None
        body = _byrest(site, branch, asked, padding)
        return without_question(site, branch, _TITLE, Safety.SAFE, body) if body is not None else None


def _byrest(site: Site, branch: cst.If, asked: cst.BaseExpression, padding: cst.BaseExpression) -> cst.BaseSuite | None:
    """`if n % k: pad by k - n % k`: pad by `-n % k`."""
    rest = remainder(site, asked)
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
