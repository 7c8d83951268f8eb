"""One exported file: does the ONNX checker take it, does it load and run in each runtime, and what is the answer."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto

from onnxlint.base.records import Location
from onnxlint.probes.confirm.engines import DEFAULT, ORT, Engine, RuntimeRefused, Setup, short
from onnxlint.probes.exporters.graph import onnx_frames

_NODE = re.compile(r"(?:Name:\s*'|[Nn]ode with name '|[Nn]ode[ :]*\(?'?)(?P<name>[^')\s]+)")
_OPERATORS = re.compile(r"rule found for operations: [^:]*")  # what OpenVINO has no translation of: `Det-20, Loop-13`


class Runtime:
    """One exported file, its inputs, and its sessions in every engine."""

    def __init__(self, path: Path, engines: Sequence[Engine] = (ORT,)) -> None:
        self.path = path
        self.model = onnx.load(str(path), load_external_data=False)
        self.inputs = {i.name: i.type.tensor_type for i in self.model.graph.input}
        self.outputs = len(self.model.graph.output)
        self.engines = list(engines)
        self._sessions: dict[tuple[str, bool], Any] = {}

    @property
    def setups(self) -> list[Setup]:
        """Every way to run the file: each engine with optimizations, and without where that can be had."""
        return [Setup(e, optimized) for e in self.engines for optimized in ((True, False) if e.plain else (True,))]

    def check(self) -> None:
        """Run the ONNX checker. Raises RuntimeRefused."""
        try:
            onnx.checker.check_model(str(self.path))
        except onnx.checker.ValidationError as error:
            raise RuntimeRefused(short(error)) from error

    def session(self, setup: Setup) -> Any:
        """The session of a setup, made once. Raises RuntimeRefused."""
        key = (setup.engine.name, setup.optimized)
        if key not in self._sessions:
            self._sessions[key] = setup.engine.open(str(self.path), setup.optimized)
        return self._sessions[key]

    def run(self, feeds: Mapping[str, Any], setup: Setup = DEFAULT) -> list[Any]:
        """The outputs as arrays. Raises RuntimeRefused."""
        return setup.engine.run(self.session(setup), feeds)

    def feeds(self, inputs: Mapping[str, str], leaves: Mapping[str, Any]) -> dict[str, Any]:
        """What the graph's inputs want, as arrays of their types. Raises RuntimeRefused for an input without a leaf."""
        feeds = {}
        for name, kind in self.inputs.items():
            leaf = leaves.get(inputs.get(name, name))
            if leaf is None:
                raise RuntimeRefused(f"the graph wants an input `{name}` that the arguments do not have")
            feeds[name] = as_array(leaf, kind.elem_type)
        return feeds

    def constant_dims(self, inputs: Mapping[str, str], name: str, axis: int) -> bool:
        """Whether the axis of the leaf `name` is a constant in the graph's input."""
        for graph_name, kind in self.inputs.items():
            if inputs.get(graph_name) == name and axis < len(kind.shape.dim):
                return bool(kind.shape.dim[axis].HasField("dim_value"))
        return False

    def places(self, message: str, root: str) -> list[tuple[Location, ...]]:
        """The user's frames of the node that a message names, or of the first node of every operator that it lists."""
        node = self.node_of(message)
        if node is not None:
            return [onnx_frames(node, root)]
        listed = _OPERATORS.search(message)
        operators = set(re.findall(r"(\w+)-\d+", listed[0])) if listed else set()
        first = {node.op_type: node for node in reversed(self.model.graph.node) if node.op_type in operators}
        return [frames for node in first.values() if (frames := onnx_frames(node, root))]

    def node_of(self, message: str) -> Any:
        """The node that an error message names; None where it names none of the graph's."""
        names = [match["name"] for match in _NODE.finditer(message)]
        return next((node for node in self.model.graph.node if node.name and node.name in names), None)


def as_array(leaf: Any, elem_type: int) -> Any:
    """A tensor or Python number as what a runtime takes for an input of this type."""
    tensor = leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if elem_type == TensorProto.BFLOAT16:
        bits = tensor.to(torch.bfloat16).contiguous().view(torch.int16).numpy().view(np.uint16)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
    if tensor.dtype == torch.bfloat16:  # numpy has no such type
        tensor = tensor.float()
    array = tensor.resolve_neg().contiguous().numpy()
    wanted = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    return array if array.dtype == wanted else array.astype(wanted)
