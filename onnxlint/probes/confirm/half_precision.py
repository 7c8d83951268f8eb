"""Files in half precision that a runtime has no kernels for: said as that, and checked all the same in float32."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto

from onnxlint.base.probe_records import Probe
from onnxlint.probes.confirm.engines import Engine
from onnxlint.probes.confirm.trials import Confirmation, confirm
from onnxlint.probes.exporters.graph import opset_of, subgraphs
from onnxlint.probes.observe.eager import Eager

_HALVES = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}
_INPUT_TYPE = r"Type 'tensor\(b?float16\)' of input parameter \S+"
# What ONNX Runtime says: no kernel, a kernel that raises, and a type that the operator has only from another opset on.
_MISSING = (
    re.compile(r"Could not find an implementation for (?P<operator>\w+)\(\d+\) node with name '(?P<node>[^']*)'"),
    re.compile(r"running (?P<operator>\w+) node\. Name:'(?P<node>[^']*)'.*MLFloat16 data type is not supported"),
    re.compile(rf"{_INPUT_TYPE} of operator \((?P<operator>\w+)\) in node \((?P<node>[^)]*)\) is invalid"),
)


def second_try(probe: Probe, eager: Eager, confirmation: Confirmation, engines: Sequence[Engine]) -> Confirmation:
    """What was found; for a refusal because kernels are missing, that in plain words and what float32 tells."""
    if confirmation.runtime is None or confirmation.export.path is None:
        return confirmation
    words = missing_kernel(confirmation.refusal, confirmation.runtime.model) if confirmation.refusal else ""
    if not words or confirmation.trials:  # another runtime has the kernels, and was tried on everything
        return replace(confirmation, refusal=words or confirmation.refusal)
    wide = widen(confirmation.export.path)
    if wide is None:
        return replace(confirmation, refusal=words)
    kinds = _halves(confirmation.runtime.model.graph)
    rounded = replace(eager, coarse=max((torch.finfo(getattr(torch, kind)).eps for kind in kinds), default=0.0))
    again = confirm(probe, rounded, replace(confirmation.export, path=wide), engines)
    if again.failing or again.random:
        return replace(again, in_float32=words)
    agrees = f"; with float32 in its place, the file agrees with eager on {len(again.trials)} inputs"
    return replace(confirmation, refusal=words if again.refusal else f"{words}{agrees}")


def missing_kernel(refusal: str, model: onnx.ModelProto) -> str:
    """What a refusal means in plain words if it is about half precision, which `model` must hold; else empty."""
    kinds = _halves(model.graph)
    match = next((m for pattern in _MISSING if (m := pattern.search(refusal))), None)
    if match is None or not kinds:
        return ""
    kind, operator = " or ".join(kinds), match["operator"]
    if "is invalid" in refusal:
        return f"ONNX has no {kind} `{operator}` at opset {opset_of(model) or 0} (node '{match['node']}')"
    return f"ONNX Runtime has no {kind} kernel for `{operator}` on this machine (node '{match['node']}')"


def widen(path: Path) -> Path | None:
    """The same file with float32 in the place of every float16 and bfloat16; None where it holds neither."""
    model = onnx.load(str(path))
    if not _halves(model.graph):
        return None
    graphs, tensors, types = _typed(model.graph)
    attributes = [a for holder in (*graphs, *model.functions) for node in holder.node for a in node.attribute]
    for tensor in (*tensors, *(a.t for a in attributes if a.type == onnx.AttributeProto.TENSOR)):
        if tensor.data_type in _HALVES:
            array = onnx.numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    for attribute in attributes:
        if attribute.name in ("to", "dtype") and attribute.i in _HALVES:
            attribute.i = TensorProto.FLOAT
    for kind in types:
        if kind.elem_type in _HALVES:
            kind.elem_type = TensorProto.FLOAT
    wide = path.with_name(f"{path.stem}-float32.onnx")
    try:
        onnx.save(model, str(wide))
    except ValueError:  # over 2 GB: nothing is said about it then
        return None
    return wide


def _typed(graph: onnx.GraphProto) -> tuple[list[onnx.GraphProto], list[onnx.TensorProto], list[Any]]:
    """A graph and those in it, with their weights and the types of their values, as far as they are written down."""
    graphs = [graph, *(inner for node in graph.node for inner in subgraphs(node))]
    values = (value for each in graphs for value in (*each.input, *each.output, *each.value_info))
    return graphs, [t for each in graphs for t in each.initializer], [value.type.tensor_type for value in values]


def _halves(graph: onnx.GraphProto) -> list[str]:
    _, tensors, types = _typed(graph)
    kinds = {tensor.data_type for tensor in tensors} | {kind.elem_type for kind in types}
    return sorted(name for kind, name in _HALVES.items() if kind in kinds)
