"""ONX101 tensor-branch. Contract: rules/ONX101-tensor-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Branch
from onnxlint.records import Outcome, Severity
from onnxlint.rules.rule import Objection, Rule

WORDS = {
    "if": "the `if`",
    "while": "the `while`",
    "ternary": "the conditional expression",
    "match": "the `match`",
    "comprehension": "the comprehension's `if`",
}


class TensorBranch(Rule):
    """Object to a test that reads tensor data; shape, dtype and None-ness are not data."""

    code = "ONX101"

    def on_branch(self, node: cst.CSTNode, branch: Branch) -> Iterator[Objection]:
        if branch.reads == "data" and not branch.leaves:
            what = "a size that depends on tensor data" if branch.sized else "the value of a tensor"
            yield Objection(
                f"{WORDS[branch.keyword]} branches on {what}: `{branch.text}`",
                "compute both arms and choose with `torch.where(test, a, b)`, or use `torch.cond` for the dynamo"
                " exporter",
                hints={"sized": int(branch.sized)},
            )
        elif branch.reads == "weight":
            yield Objection(
                f"{WORDS[branch.keyword]} branches on the value of a weight: `{branch.text}`",
                "decide it once in `__init__` and keep the answer as a Python bool",
                severity=Severity.WARNING,
                effects={"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR},
            )
