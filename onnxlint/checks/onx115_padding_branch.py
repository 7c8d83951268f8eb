"""ONX115 padding-branch. Contract: rules/ONX115-padding-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Branch


@check("ONX115")
def padding_branch(branch: Branch) -> Iterator[Objection]:
    """Object to a branch that pads only where a division leaves a rest."""
    if branch.reads == "dim" and branch.form == "padding":
        yield Objection(
            f"the {branch.keyword} asks whether a dynamic size needs padding: `{branch.text}`; the answer is frozen",
            "pad always, by an amount that may be zero: `F.pad(x, (0, -n % k))`",
        )
