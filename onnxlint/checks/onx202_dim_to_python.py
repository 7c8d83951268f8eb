"""ONX202 dim-to-python. Contract: rules/ONX202-dim-to-python.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import Escape


@check("ONX202")
def dim_to_python(escape: Escape) -> Iterator[Objection]:
    """Object to a symbolic size that became a plain number, which then shapes something."""
    if escape.source == "dim":
        yield Objection(
            f"`{escape.how}` turns a dynamic size into the example's number: `{escape.text}`",
            "use the size as it is (`x.shape[1]`) with `//`, `%`, `*`; `torch.sym_min` for `min` under dynamo",
        )
