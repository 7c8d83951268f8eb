"""ONX306 unregistered-modules. Contract: rules/ONX306-unregistered-modules.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import HiddenModules
from onnxlint.rules.rule import Objection, Rule


class UnregisteredModules(Rule):
    """Object to modules in a plain container."""

    code = "ONX306"

    def on_hidden_modules(self, node: cst.CSTNode, hidden: HiddenModules) -> Iterator[Objection]:
        better = "nn.ModuleDict" if hidden.container == "dict" else "nn.ModuleList"
        yield Objection(
            f"modules are kept in a plain {hidden.container}: `eval()`, `parameters()` and the exporters do not"
            " see them",
            f"wrap it in `{better}(...)`",
        )
