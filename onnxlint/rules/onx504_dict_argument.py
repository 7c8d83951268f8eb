"""ONX504 dict-argument. Contract: rules/ONX504-dict-argument.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class DictArgument(Rule):
    """Object to a dict in the place of the tuple of arguments."""

    code = "ONX504"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.dict_argument:
            yield Objection(
                "a dict in the place of `args` is taken for keyword arguments, not for one argument",
                "wrap it: `(batch,)`, or give keyword arguments as `kwargs=`",
            )
