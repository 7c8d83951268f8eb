"""Graphs that TorchScript lowers and cannot write: the values of a type that ONNX does not have, each at its line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.onnx._internal.torchscript_exporter import utils as internals

from onnxlint.base.records import text_of
from onnxlint.probes.exporters import Frames, Refusal
from onnxlint.probes.exporters.graph import jit_frames, jit_nodes

_MESSAGE = "is an unexpected tensor scalar type"  # ScalarType ComplexDouble …
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)


@contextlib.contextmanager
def lowered(graphs: list[Any]) -> Iterator[None]:
    """Keep the graph that the exporter is about to write."""
    to_graph = internals._model_to_graph

    def kept(*args: Any, **kwargs: Any) -> Any:
        made = to_graph(*args, **kwargs)
        graphs[:] = made[:1]
        return made

    with mock.patch.object(internals, "_model_to_graph", kept):
        yield


def refused(error: Exception, graphs: list[Any], root: str) -> list[Refusal]:
    """The places of what cannot be written, if that is what the exporter failed of.

    The lowering of an operator may have made such a constant itself: it takes bfloat16 for a complex type.
    """
    if _MESSAGE not in text_of(error):
        return []
    refusals: dict[Frames, Refusal] = {}
    for graph in graphs:
        for node in filter(_complex, jit_nodes(graph)):
            frames = jit_frames(node, root)
            if frames:
                message = f"the TorchScript exporter writes a complex number here, which ONNX has no type for: {error}"
                refusals.setdefault(frames[:1], Refusal(message, frames))
    return list(refusals.values())


def _complex(node: Any) -> bool:
    """Whether a node holds a complex constant, or takes or makes a complex value."""
    constants = [node.t(name) for name in node.attributeNames() if node.kindOf(name) == "t"]
    kinds = [value.type() for value in (*node.inputs(), *node.outputs())]
    tensors = [kind.dtype() for kind in kinds if isinstance(kind, torch._C.TensorType)]
    return any(dtype in _COMPLEX for dtype in (*tensors, *(tensor.dtype for tensor in constants)))
