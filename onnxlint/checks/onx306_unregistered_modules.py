"""ONX306 unregistered-modules. Contract: rules/ONX306-unregistered-modules.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import HiddenModules


@check("ONX306")
def unregistered_modules(hidden: HiddenModules) -> Iterator[Objection]:
    """Object to modules in a plain container."""
    better = "nn.ModuleDict" if hidden.container == "dict" else "nn.ModuleList"
    yield Objection(
        f"modules are kept in a plain {hidden.container}: `eval()`, `parameters()` and the exporters do not see them",
        f"wrap it in `{better}(...)`",
    )
