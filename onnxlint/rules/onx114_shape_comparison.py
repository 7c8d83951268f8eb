import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, keywords, positional, same
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.work_saving_branches import branch_of, only_assignment, without_question


class ShapeComparison(Rule):
    """Object to a branch on whether two sizes are equal."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form == "equal":
            yield Objection(
                f"the {keyword_of(self, node)} asks whether two dynamic sizes are equal: `{self.source(node)}`; the"
                " answer is frozen"
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe by a last digit: a resize to the same size computes what it could have left alone."""
        branch = branch_of(site)
        match branch, only_assignment(branch):
            case (
                cst.If(cst.Comparison(comparisons=[cst.ComparisonTarget(cst.NotEqual())])) as branch,
                cst.Assign([target], cst.Call() as call),
            ) if call_name(call) in ("interpolate", "resize") and "size" in keywords(call):
                if any(same(resized, target.target) for resized in positional(call)[:1]):
                    title = "resize always: to its own size it changes nothing"
                    return without_question(site, branch, title, Safety.UNSAFE)
        return None
