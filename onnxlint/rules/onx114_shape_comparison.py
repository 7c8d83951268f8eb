"""ONX114 shape-comparison. Contract: rules/ONX114-shape-comparison.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Branch
from onnxlint.rules.rule import Objection, Rule


class ShapeComparison(Rule):
    """Object to a branch on whether two sizes are equal."""

    code = "ONX114"

    def on_branch(self, node: cst.CSTNode, branch: Branch) -> Iterator[Objection]:
        if branch.reads == "dim" and branch.form == "equal":
            yield Objection(
                f"the {branch.keyword} asks whether two dynamic sizes are equal: `{branch.text}`; the answer is frozen",
                "do what the arm does always: a resize, pad or slice to the other's size does nothing where they agree",
            )
