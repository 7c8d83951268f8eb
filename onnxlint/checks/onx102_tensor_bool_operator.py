"""ONX102 tensor-bool-operator. Contract: rules/ONX102-tensor-bool-operator.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import BoolOperator


@check("ONX102")
def tensor_bool_operator(operator: BoolOperator) -> Iterator[Objection]:
    """Object to an operator that asks a tensor for its truth."""
    if not operator.operands:
        yield Objection(
            f"`{operator.operator}` turns a tensor into one Python bool: `{operator.text}`",
            "use `&`, `|`, `~` or `torch.isin`, which stay in the graph",
        )
