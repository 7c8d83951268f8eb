"""ONX504 dict-argument. Contract: rules/ONX504-dict-argument.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall


@check("ONX504")
def dict_argument(call: ExportCall) -> Iterator[Objection]:
    """Object to a dict in the place of the tuple of arguments."""
    if call.dict_argument:
        yield Objection(
            "a dict in the place of `args` is taken for keyword arguments, not for one argument",
            "wrap it: `(batch,)`, or give keyword arguments as `kwargs=`",
        )
