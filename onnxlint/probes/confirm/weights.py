"""The weights of an exported file: those that it holds twice, and whether they are more than one file can hold."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Cause, Evidence
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.exporters.graph import onnx_frames

_MOST = 2**31 - 1  # bytes of one protobuf message
_LEAST = 2**20  # bytes of a copy that is worth a word
SHARE = 0.05  # of all weights
_READ = 2**30  # bytes beside the file, beyond which they are not read only to be compared


@dataclass(frozen=True, slots=True)
class Copy:
    """A weight that is the same as another one of the file, or its transposed."""

    name: str
    original: str
    size: int
    transposed: bool


def copied(probe: Probe, confirmation: Confirmation) -> Iterator[Evidence]:
    """The lines that use a second copy of a weight, where the copies are worth a word."""
    model, total = confirmation.loaded.model, weight_bytes(confirmation.loaded.model)
    copies = list(copies_of(model, confirmation.loaded.path.parent))
    if sum(copy.size for copy in copies) < SHARE * total:
        return
    for copy in copies:
        how = "once more, transposed," if copy.transposed else "once more"
        sizes = f"{human(copy.size)} of {human(total)} of weights"
        detail = f"the file holds `{copy.original}` {how} as `{copy.name}`: {sizes}"
        users = (node for node in model.graph.node if copy.name in node.input)
        frames = next((frames for node in users if (frames := onnx_frames(node, probe.root))), ())
        yield confirmation.remark(probe, Cause.WEIGHTS, frames, detail)


def copies_of(model: onnx.ModelProto, folder: Path) -> Iterator[Copy]:
    """Every weight of some size that another one before it equals. Only those that begin and end alike are compared."""
    alike: dict[tuple[Any, ...], list[tuple[onnx.TensorProto, Any]]] = defaultdict(list)
    outside = sum(_size(tensor) for tensor in model.graph.initializer if tensor.external_data)
    for tensor in model.graph.initializer:
        size = _size(tensor)
        if size < _LEAST or (tensor.external_data and outside > _READ):
            continue
        array = onnx.numpy_helper.to_array(tensor, str(folder))
        flat = array.reshape(-1)
        key = (tensor.data_type, *sorted(array.shape), flat[:1].tobytes(), flat[-1:].tobytes())
        for other, its in alike[key]:
            same = array.shape == its.shape and np.array_equal(array, its)
            turned = not same and array.shape == its.T.shape and np.array_equal(array, its.T)
            if same or turned:
                made_up = other.name.startswith(("onnx::", "val_"))  # what has a name in the model is the original
                first, second = (tensor, other) if made_up else (other, tensor)
                yield Copy(second.name, first.name, size, turned)
                break
        else:
            alike[key].append((tensor, array))


def too_large(confirmation: Confirmation, name: str) -> str:
    """What to know of a file whose weights are in others beside it, since one cannot hold them; empty for others."""
    if confirmation.runtime is None:
        return ""
    total = weight_bytes(confirmation.runtime.model)
    if total <= _MOST:
        return ""
    tensors = confirmation.runtime.model.graph.initializer
    files = len({entry.value for t in tensors for entry in t.external_data if entry.key == "location"})
    large = f"{human(total)} of weights, more than the 2 GiB that an ONNX file holds"
    where = f"in {files} {'file' if files == 1 else 'files'} beside it, and have to go wherever it goes"
    return f"{name}, {confirmation.export.exporter}: {large}: they are {where}"


def weight_bytes(model: onnx.ModelProto) -> int:
    """The size of all weights, in the file and beside it."""
    return sum(_size(tensor) for tensor in model.graph.initializer)


def _size(tensor: onnx.TensorProto) -> int:
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data)
    return int(math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def human(size: int) -> str:
    """A size as a person says it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
