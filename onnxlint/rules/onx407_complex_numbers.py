"""ONX407 complex-numbers. Contract: rules/ONX407-complex-numbers.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule

WHO = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}


class ComplexNumbers(Rule):
    """Object to an operator on complex numbers that an exporter has no real form of."""

    code = "ONX407"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "complex":
            who = " and ".join(WHO[e] for e in call.refused_by)
            what = f"`{call.detail}` of complex numbers" if call.detail else f"the complex numbers of `{call.op}`"
            if call.detail == "j":
                what = f"a complex number of Python in `{call.text}`"
            yield Objection(
                f"{who} cannot lower {what}",
                "compute with the real and the imaginary part as two tensors; dynamo lowers FFT and plain arithmetic",
                effects=dict.fromkeys(call.refused_by, Outcome.EXPORT_ERROR),
                about="complex numbers",
                in_class=True,
            )
