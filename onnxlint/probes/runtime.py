"""ONNX checker and ONNX Runtime: does the file load, does it run, and what does it answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto

from onnxlint.probes.graph import onnx_frames
from onnxlint.records import Location

_NODE = re.compile(r"(?:Name:\s*'|[Nn]ode with name '|[Nn]ode[ :]*\(?'?)(?P<name>[^')\s]+)")


class RuntimeRefused(Exception):
    """The checker or ONNX Runtime refused; the message is theirs, in one line."""


class Runtime:
    """One exported file, its sessions and its inputs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = onnx.load(str(path), load_external_data=False)
        self.inputs = {i.name: i.type.tensor_type for i in self.model.graph.input}
        self.outputs = len(self.model.graph.output)
        self._sessions: dict[bool, Any] = {}

    def check(self) -> None:
        """Run the ONNX checker. Raises RuntimeRefused."""
        try:
            onnx.checker.check_model(str(self.path))
        except onnx.checker.ValidationError as error:
            raise RuntimeRefused(_short(error)) from error

    def session(self, optimized: bool) -> Any:
        """The session with all optimizations, or with none; made once. Raises RuntimeRefused."""
        if optimized not in self._sessions:
            self._sessions[optimized] = open_session(str(self.path), optimized)
        return self._sessions[optimized]

    def run(self, feeds: Mapping[str, Any], optimized: bool = True) -> list[Any]:
        """The outputs as numpy arrays. Raises RuntimeRefused."""
        return run(self.session(optimized), feeds)

    def feeds(self, inputs: Mapping[str, str], leaves: Mapping[str, Any]) -> dict[str, Any]:
        """What the graph's inputs want, as arrays of their types. Raises RuntimeRefused for an input without a leaf."""
        found = {}
        for name, kind in self.inputs.items():
            leaf = leaves.get(inputs.get(name, name))
            if leaf is None:
                raise RuntimeRefused(f"the graph wants an input `{name}` that the arguments do not have")
            found[name] = as_array(leaf, kind.elem_type)
        return found

    def constant_dims(self, inputs: Mapping[str, str], name: str, axis: int) -> bool:
        """Whether the axis of the leaf `name` is a constant in the graph's input."""
        for graph_name, kind in self.inputs.items():
            if inputs.get(graph_name) == name and axis < len(kind.shape.dim):
                return bool(kind.shape.dim[axis].HasField("dim_value"))
        return False

    def frames(self, message: str, root: str) -> tuple[Location, ...]:
        """The user's frames of the node that an error message names."""
        names = [match["name"] for match in _NODE.finditer(message)]
        for node in self.model.graph.node:
            if node.name and node.name in names:
                return onnx_frames(node, root)
        return ()


def open_session(model: str | bytes, optimized: bool) -> Any:
    """A quiet single-threaded session. Raises RuntimeRefused."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RuntimeRefused(_short(error)) from error


def run(session: Any, feeds: Mapping[str, Any]) -> list[Any]:
    """Run a session on arrays or OrtValues. Raises RuntimeRefused."""
    values = {
        name: value if isinstance(value, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(value)
        for name, value in feeds.items()
    }
    try:
        outputs = session.run_with_ort_values(None, values)
    except Exception as error:
        raise RuntimeRefused(_short(error)) from error
    return [_out(value) for value in outputs]


def as_array(leaf: Any, elem_type: int) -> Any:
    """A tensor or Python number as what ONNX Runtime takes for an input of this type."""
    tensor = leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if elem_type == TensorProto.BFLOAT16:
        bits = tensor.to(torch.bfloat16).contiguous().view(torch.int16).numpy().view(np.uint16)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
    array = tensor.resolve_neg().contiguous().numpy()
    wanted = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    return array if array.dtype == wanted else array.astype(wanted)


def _out(value: Any) -> Any:
    if value.element_type() == TensorProto.BFLOAT16:
        return torch.from_dlpack(value._ortvalue.to_dlpack())  # numpy has no such type
    return value.numpy()


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 400 else text[:397] + "…"
