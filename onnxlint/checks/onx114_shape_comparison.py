"""ONX114 shape-comparison. Contract: rules/ONX114-shape-comparison.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Branch


@check("ONX114")
def shape_comparison(branch: Branch) -> Iterator[Objection]:
    """Object to a branch on whether two sizes are equal."""
    if branch.reads == "dim" and branch.form == "equal":
        yield Objection(
            f"the {branch.keyword} asks whether two dynamic sizes are equal: `{branch.text}`; the answer is frozen",
            "do what the arm does always: a resize, pad or slice to the other's size does nothing where they agree",
        )
