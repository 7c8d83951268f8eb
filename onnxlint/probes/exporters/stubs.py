"""Everything that TorchScript cannot lower: the export once more, with a stub for each operator refused."""

from __future__ import annotations

import contextlib
import io
from typing import Any
from unittest import mock

import torch
from torch.onnx._internal.torchscript_exporter import jit_utils
from torch.onnx._internal.torchscript_exporter import utils as internals

from onnxlint.probes.exporters import Example, Frames, Refusal, first_line
from onnxlint.probes.exporters.graph import jit_frames
from onnxlint.probes.exporters.torchscript import located_nodes, run_exporter

_STUB = "onnxlint::Refused"


def refused_operators(model: torch.nn.Module, example: Example, opset: int, root: str) -> list[Refusal] | None:
    """Each operator that has no lowering, or one that fails, at each line; None where the model cannot be traced."""
    traced = False
    refusals: dict[tuple[str, Frames], Refusal] = {}
    lower = internals._run_symbolic_function

    def lowered(graph: Any, block: Any, node: Any, inputs: Any, env: Any, values: Any, made: Any, *rest: Any) -> Any:
        nonlocal traced
        traced = True
        try:
            return lower(graph, block, node, inputs, env, values, made, *rest)
        except Exception as error:  # noqa: BLE001 - whatever a lowering raises is what we look for
            frames = jit_frames(node, root)
            unsupported = isinstance(error, torch.onnx.errors.UnsupportedOperatorError)
            if frames and (unsupported or not _fed_by_stub(inputs)):
                reason = first_line(error).partition("  [Caused by")[0]  # without the dump of the graph that follows
                message = f"`{node.kind()}` cannot be exported at opset {opset}" if unsupported else reason
                refusals.setdefault((node.kind(), frames[:1]), Refusal(message, frames))
            context = jit_utils.GraphContext(graph, block, opset, node, internals._params_dict, env, values, made)
            return _stub(context, node, inputs)

    watching = mock.patch.object(internals, "_run_symbolic_function", lowered)
    with located_nodes(), watching, contextlib.suppress(Exception):  # the first error is reported: this is for others
        run_exporter(model, example, io.BytesIO(), opset)
    return list(refusals.values()) if traced else None


def _stub(context: Any, node: Any, inputs: Any) -> Any:
    """A node of our own in the place of the one refused, with its outputs' types: later lowerings ask for them."""
    count = node.outputsSize()
    made = context.op(_STUB, *(value for value in inputs if value is not None), outputs=count)
    for value, original in zip((made,) if count == 1 else made, node.outputs(), strict=True):
        kind = original.type()
        if isinstance(kind, torch._C.TensorType) and kind.dtype() in (torch.complex64, torch.complex128):
            kind = torch._C.TensorType.get()  # ONNX has no complex numbers: a type like that ends the export
            original.setType(kind)
        value.setType(kind)
    return made


def _fed_by_stub(inputs: Any) -> bool:
    """Whether an input is a stub's: a lowering that fails then may fail because of that."""
    return any(value is not None and value.node().kind() == _STUB for value in inputs)
