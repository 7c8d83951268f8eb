"""ONX106 dim-branch. Contract: rules/ONX106-dim-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Branch
from onnxlint.rules.rule import Objection, Rule


class DimBranch(Rule):
    """Object to a branch on a size that may change after the export."""

    code = "ONX106"

    def on_branch(self, node: cst.CSTNode, branch: Branch) -> Iterator[Objection]:
        if branch.reads == "dim" and branch.form not in ("equal", "padding"):
            yield Objection(
                f"the {branch.keyword} branches on a dynamic size: `{branch.text}`; the export keeps the example's arm",
                "write one computation that holds for every size (pad, slice, clamp), or keep that axis static",
            )
