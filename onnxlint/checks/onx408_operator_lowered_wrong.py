"""ONX408 operator-lowered-wrong. Contract: rules/ONX408-operator-lowered-wrong.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall
from onnxlint.records import Outcome

WHO = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}


@check("ONX408")
def operator_lowered_wrong(call: OpCall) -> Iterator[Objection]:
    """Object to an operator that an exporter translates to something else."""
    if call.hazard == "wrong":
        who = " and ".join(WHO[e] for e in call.refused_by)
        how = f" with `{call.detail}`" if call.detail else ""
        yield Objection(
            f"{who} translates `{call.op}`{how} to something that computes other values",
            "say it with other operators (see the rule), and compare the file with PyTorch",
            effects=dict.fromkeys(call.refused_by, Outcome.WRONG_VALUES),
        )
