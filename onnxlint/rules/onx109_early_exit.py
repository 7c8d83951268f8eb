from onnxlint.base.records import Fix
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.work_saving_branches import branch_of, without_guard


class EarlyExit(Rule):
    """Object to a loop that tensor data may leave before its end."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        if branch.reads == "data" and branch.leaves:
            yield Objection(
                f"`{branch.leaves}` leaves the loop on tensor data: `{self.source(node)}`; the number of rounds is"
                " frozen"
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the rest of the round has to bear an empty selection."""
        branch = branch_of(site)
        return without_guard(site, branch) if branch is not None else None
