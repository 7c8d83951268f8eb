import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, keywords, positional, same
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.helpers.work_saving_branches import branch_of, only_assignment, without_question


class ShapeComparison(Rule):
    """Object to a branch on whether two sizes are equal."""

    safety = Safety.UNSAFE

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "dim" and branch.form == "equal":
            yield Objection(
                f"the {keyword_of(self, node)} asks whether two dynamic sizes are equal: `{self.source(node)}`; the"
                " answer is frozen",
                "do what the arm does always: a resize, pad or slice to the other's size does nothing where they agree",
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe by a last digit: a resize to the same size computes what it could have left alone."""
        branch = branch_of(site)
        match branch:
            case cst.If(cst.Comparison(comparisons=[cst.ComparisonTarget(cst.NotEqual())])):
                pass
            case _:
                return None
        statement = only_assignment(branch)
        call = statement.value if statement is not None else None
        if not isinstance(call, cst.Call) or call_name(call) not in ("interpolate", "resize"):
            return None
        resized = statement is not None and any(same(i, statement.targets[0].target) for i in positional(call)[:1])
        if not resized or "size" not in keywords(call):
            return None
        return without_question(site, branch, "resize always: to its own size it changes nothing", Safety.UNSAFE)
