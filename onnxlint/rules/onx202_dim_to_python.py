"""ONX202 dim-to-python. Contract: rules/ONX202-dim-to-python.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import Escape
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule

# Dynamo has symbolic forms of these.
_TORCHSCRIPT_ONLY = {
    "len()": Outcome.SHAPE_ERROR,
    "min()": Outcome.SHAPE_ERROR,
    "max()": Outcome.SHAPE_ERROR,
    "float()": Outcome.WRONG_VALUES,
    "math.ceil()": Outcome.WRONG_VALUES,
    "math.floor()": Outcome.WRONG_VALUES,
    "numpy.prod": Outcome.SHAPE_ERROR,
}


# Methods of a number: TorchScript, for which a size is a tensor, has none of them. Measured: dynamo has these two.
_DYNAMO_HAS = (".is_integer()", ".conjugate()")


class DimToPython(Rule):
    """Object to a symbolic size that became a plain number, which then shapes something."""

    code = "ONX202"

    def on_escape(self, node: cst.CSTNode, escape: Escape) -> Iterator[Objection]:
        if escape.source == "dim" and escape.how.startswith("."):
            refused = ("torchscript",) if escape.how in _DYNAMO_HAS else ("torchscript", "dynamo")
            yield Objection(
                f"`{escape.how[1:]}` is asked of a dynamic size, which is no Python number in an export:"
                f" `{escape.text}`",
                "reckon with the size as it is: `x.shape[1] % 4 == 0`, `//`, `*`",
                effects=dict.fromkeys(refused, Outcome.EXPORT_ERROR),
            )
        elif escape.source == "dim" and escape.how != "a size after unflatten":
            yield Objection(
                f"`{escape.how}` turns a dynamic size into the example's number: `{escape.text}`",
                "use the size as it is (`x.shape[1]`) with `//`, `%`, `*`; `torch.sym_min` for `min` under dynamo",
                effects=_effects(escape.how),
            )


def _effects(how: str) -> dict[str, Outcome] | None:
    """What becomes of this form of it, where that is not what the contract says."""
    if how in _TORCHSCRIPT_ONLY:
        return {"torchscript": _TORCHSCRIPT_ONLY[how]}
    if how == "round()":
        return {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.EXPORT_ERROR}
    if how.startswith("math."):
        return {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}
    return None
