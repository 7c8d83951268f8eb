"""ONX116 exception-branch. Contract: rules/ONX116-exception-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.state.observations import Attempt
from onnxlint.rules.engine.rule import Objection, Rule


class ExceptionBranch(Rule):
    """Object to a computation that an exception replaces by another one."""

    code = "ONX116"

    def on_attempt(self, node: cst.CSTNode, attempt: Attempt) -> Iterator[Objection]:
        yield Objection(
            f"the handler of {attempt.catches} replaces this computation by another one; the export keeps the"
            " example's",
            "ask the question that the exception answers, and write one formula that holds for every size",
        )
