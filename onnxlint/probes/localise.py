"""Where an export goes wrong: the first values that eager computes and ONNX Runtime does not, by source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from onnxlint.probes.observe import clone
from onnxlint.probes.runtime import RuntimeRefused, open_session, run
from onnxlint.probes.userspace import user_frames
from onnxlint.records import Location

Frames = tuple[Location, ...]
_CLOSE = 1e-3  # of the largest value: two intermediate values this close are the same value
_MOST = 4  # places named


def first_divergences(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    exported: Path,
    feeds: Mapping[str, Any],
    root: str,
) -> list[Frames]:
    """The user's frames of the first operators whose result ONNX Runtime computes nowhere, in eager's order.

    Values are matched by shape and content, so neither exporter's names matter, nor what it fused: an operator counts
    only if every step from it to the model's outputs goes unmatched too. Empty if no place can be told.
    """
    try:
        theirs = _intermediates(exported, feeds)
    except RuntimeRefused:
        return []
    record = _Record(root)
    with torch.no_grad(), record:
        outputs = model(*clone(args), **clone(dict(kwargs)))
    wrong = {index for index in record.producers(outputs) if not theirs.has(record.values[index])}
    first: set[int] = set()
    waiting, seen = list(wrong), set(wrong)
    while waiting:
        index = waiting.pop()
        before = [i for i in record.inputs[index] if not theirs.has(record.values[i])]
        if not before:
            first.add(index)
        waiting += [i for i in before if i not in seen]
        seen.update(before)
    places: dict[Location, Frames] = {}
    for index in sorted(first):
        frames = record.frames[index]
        if frames:
            places.setdefault(frames[0], frames)
    return list(places.values())[:_MOST]


class _Record(TorchDispatchMode):
    """Every operator of one eager run: its result, where it comes from, and the user's frames."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.root = root
        self.values: list[torch.Tensor] = []
        self.inputs: list[list[int]] = []
        self.frames: list[Frames] = []
        self._made: dict[int, int] = {}
        self._alive: list[Any] = []  # an id means nothing once its tensor is gone

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = self.producers((args, kwargs))
        for value in pytree.tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.numel():
                self._made[id(value)] = len(self.values)
                self._alive.append(value)
                self.values.append(value.detach().clone())
                self.inputs.append(sources)
                self.frames.append(user_frames(root=self.root))
        return result

    def producers(self, tree: Any) -> list[int]:
        """The operators that made the tensors in `tree`."""
        return [self._made[id(t)] for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor) and id(t) in self._made]


class _Values:
    """Arrays to be found again by shape and content."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[int, ...], list[Any]] = defaultdict(list)

    def add(self, array: Any) -> None:
        """Keep one array."""
        if isinstance(array, np.ndarray) and array.dtype.kind in "fiub":
            self._by_shape[array.shape].append(array)

    def has(self, value: torch.Tensor) -> bool:
        """Whether one of the arrays holds this value."""
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        wanted = value.detach().cpu().to(torch.float64).numpy()
        finite = np.abs(wanted[np.isfinite(wanted)])
        far = _CLOSE * float(finite.max(initial=0.0))
        return any(
            np.allclose(array, wanted, rtol=0.0, atol=far, equal_nan=True)
            for array in self._by_shape.get(wanted.shape, ())
        )


def _intermediates(exported: Path, feeds: Mapping[str, Any]) -> _Values:
    """All values of one run: every node's results, the inputs and the constants. Raises RuntimeRefused."""
    model = onnx.load(str(exported))
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    found = _Values()
    try:
        serialized = model.SerializeToString()
    except ValueError as error:  # over 2 GB
        raise RuntimeRefused(str(error)) from error
    for array in run(open_session(serialized, optimized=False), feeds):
        found.add(array)
    for array in feeds.values():
        found.add(array)
    for tensor in model.graph.initializer:
        found.add(onnx.numpy_helper.to_array(tensor))
    return found
