"""ONX116 exception-branch. Contract: rules/ONX116-exception-branch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Attempt


@check("ONX116")
def exception_branch(attempt: Attempt) -> Iterator[Objection]:
    """Object to a computation that an exception replaces by another one."""
    yield Objection(
        f"the handler of {attempt.catches} replaces this computation by another one; the export keeps the example's",
        "ask the question that the exception answers, and write one formula that holds for every size",
    )
