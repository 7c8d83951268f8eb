"""ONX417 function-transform. Contract: rules/ONX417-function-transform.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import OpCall
from onnxlint.rules.engine.rule import Objection, Rule

WHO = {"torchscript": "the TorchScript exporter", "dynamo": "the dynamo exporter"}


class FunctionTransform(Rule):
    """Object to a transform of functions in what is exported."""

    code = "ONX417"

    def on_op_call(self, node: cst.CSTNode, call: OpCall) -> Iterator[Objection]:
        if call.hazard == "transform":
            if call.op.endswith("vmap"):
                yield Objection(
                    "`vmap` is unrolled by the TorchScript exporter, which may fail on another size than the example's",
                    "write the batched computation out, with broadcasting",
                    severity=Severity.WARNING,
                    effects={"torchscript": Outcome.SHAPE_ERROR, "dynamo": Outcome.OK},
                )
                return
            yield Objection(
                f"{' and '.join(WHO[e] for e in call.refused_by)} cannot trace through `{call.op}`",
                "write the derivative or the batched computation out in tensor operations",
                effects=dict.fromkeys(call.refused_by, Outcome.EXPORT_ERROR),
            )
