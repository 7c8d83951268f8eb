"""ONX106 dim-branch. Contract: rules/ONX106-dim-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Branch


@check("ONX106")
def dim_branch(branch: Branch) -> Iterator[Objection]:
    """Object to a branch on a size that may change after the export."""
    if branch.reads == "dim" and branch.form not in ("equal", "padding"):
        yield Objection(
            f"the {branch.keyword} branches on a dynamic size: `{branch.text}`; the export keeps the example's arm",
            "write one computation that holds for every size (pad, slice, clamp), or keep that axis static",
        )
