"""ONX115 padding-branch. Contract: rules/ONX115-padding-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Branch
from onnxlint.rules.rule import Objection, Rule


class PaddingBranch(Rule):
    """Object to a branch that pads only where a division leaves a rest."""

    code = "ONX115"

    def on_branch(self, node: cst.CSTNode, branch: Branch) -> Iterator[Objection]:
        if branch.reads == "dim" and branch.form == "padding":
            yield Objection(
                f"the {branch.keyword} asks whether a dynamic size needs padding: `{branch.text}`; the answer is"
                " frozen",
                "pad always, by an amount that may be zero: `F.pad(x, (0, -n % k))`",
            )
