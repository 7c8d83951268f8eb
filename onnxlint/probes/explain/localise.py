"""Where an export goes wrong: the first values that eager computes and a runtime does not, by source line."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch.nn import Module
from torch.utils import _pytree as pytree

from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.confirm.engines import Engine, RuntimeRefused
from onnxlint.probes.exporters import Args, Frames, Kwargs, first_of_each
from onnxlint.probes.exporters.graph import onnx_frames
from onnxlint.probes.observe.observe import clone

Line = tuple[str, int]
Site = tuple[Line, ...]  # a line and its caller's: a helper's line alone would mix up its calls
_CLOSE = 1e-3  # of the largest value: two intermediate values this close are the same value
_ROUNDED = 8.0  # in eps: the same for half precision, which a runtime may compute in float32
_MOST = 4  # places named
_STEPS = 60  # values that the search in an optimized graph may ask for, each in two sessions


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file, the values of its inputs, the root of the checked tree, and the runtime to run it in."""

    path: Path
    feeds: Mapping[str, Any]
    root: str
    engine: Engine


def first_divergences(model: Module, args: Args, kwargs: Kwargs, exported: Exported) -> list[Frames]:
    """The user's frames of the first operators whose result the runtime computes nowhere, in eager's order.

    Values are matched by content among those of the same call site, so neither names matter nor what was fused: an
    operator counts only if every step from it to the model's outputs goes unmatched too.
    """
    try:
        theirs = _intermediates(onnx.load(str(exported.path)), exported)
    except RuntimeRefused:
        return []
    record, outputs = _recorded(model, args, kwargs, exported.root)
    # Mostly a view is right where its whole is. Where that leaves nothing wrong, a view itself must be: `squeeze()`.
    for strict in (False, True):
        matched = _matched(record, theirs, strict)
        for index in _wrong_answers(record, theirs, outputs):  # the value may stand elsewhere, as that of an input
            matched[index] = False
        places = _places(record, _first_wrong(record, matched, record.producers(outputs)))
        if places:
            return places
    return []


def wrong_before(name: str, model: Module, args: Args, kwargs: Kwargs, exported: Exported) -> list[Frames]:
    """The same for a graph that does not load because of a node, and of lines at which it computes something else."""
    onnx_model = onnx.load(str(exported.path))
    node = next(node for node in onnx_model.graph.node if node.name == name)
    site = _site(onnx_frames(node, exported.root))
    keep_nodes(onnx_model.graph, nodes_for(onnx_model.graph, node.input))
    try:
        theirs = _intermediates(onnx_model, exported)
    except RuntimeRefused:
        return []
    record, outputs = _recorded(model, args, kwargs, exported.root)
    matched = _matched(record, theirs, strict=False)
    start = _first_unmatched(record, matched, site) or record.producers(outputs)
    wrong = [index for index in _first_wrong(record, matched, start) if _leaves_wrong(record, theirs, index)]
    return _places(record, [_through_views(record, theirs, index) for index in wrong])


def _first_unmatched(record: _Record, matched: list[bool], site: Site | None) -> list[int]:
    """What eager does the first time that it is at a site with values that the graph, which ends there, lacks."""
    there = [site is not None and _site(frames) == site for frames in record.frames]
    visits = (list(group) for here, group in itertools.groupby(range(len(there)), key=there.__getitem__) if here)
    return next((visit for visit in visits if not all(matched[index] for index in visit)), [])


def _through_views(record: _Record, theirs: _Values, index: int) -> int:
    """From a wrong value back to the first view on its way that is not in the graph where it is made: a window."""
    views = (i for i in record.inputs[index] if record.view[i])
    missing = (i for i in views if not theirs.has(record.values[i], record.frames[i]))
    view = next((i for i in missing if _leaves_wrong(record, theirs, i)), None)
    return index if view is None else _through_views(record, theirs, view)


def _leaves_wrong(record: _Record, theirs: _Values, index: int) -> bool:
    """Whether the last value that the graph has from an operator's line is none of those that eager has there."""
    site, floating = _site(record.frames[index]), record.values[index].dtype.is_floating_point
    last = theirs.last.get((site[0], floating)) if site is not None else None
    here = (i for i, frames in enumerate(record.frames) if frames[:1] == record.frames[index][:1])
    return last is not None and not any(_alike(last, _wanted(record.values[i])) for i in here)


def spoilt(exported: Exported) -> Frames:
    """The user's frames of the first node whose value a runtime's own optimizations change; each is asked for alone."""
    graph = onnx.load(str(exported.path)).graph
    makers = {name: node for node in graph.node for name in node.output}
    fed = {value.name for value in graph.input}  # what depends on an input: no folded weight does
    for node in graph.node:
        fed.update(node.output if fed.intersection(node.input) else ())
    node, wrong = None, [value.name for value in graph.output]
    changes = functools.cache(functools.partial(_is_optimized_away, exported))

    def changed(name: str) -> bool:
        return changes.cache_info().misses < _STEPS and changes(name)

    try:
        while name := next(filter(changed, wrong), None):  # no chain: another input of the node may be wrong
            if name not in makers:
                return ()
            # Up to one node the way is right, and from the next one on it is wrong.
            way = [n for n in nodes_for(graph, [makers[name].output[0]]) if fed.intersection(n.output)]
            first = bisect.bisect_left(way, True, hi=len(way) - 1, key=lambda n: changed(n.output[0])) if way else 0
            node = (way or [makers[name]])[first]
            wrong = [n for n in node.input if n in makers]
    except RuntimeRefused:
        return ()
    return onnx_frames(node, exported.root) if node is not None else ()


def _is_optimized_away(exported: Exported, name: str) -> bool:
    """Whether optimizations change a value; what fails with them alone is changed too."""
    model = onnx.load(str(exported.path))
    keep_nodes(model.graph, nodes_for(model.graph, [name]))
    model.graph.output.append(onnx.ValueInfoProto(name=name))
    (plain,) = exported.engine.run_model(model, exported.feeds, optimized=False)
    try:
        (optimized,) = exported.engine.run_model(model, exported.feeds, optimized=True)
    except RuntimeRefused:
        return True
    if not isinstance(plain, np.ndarray) or plain.dtype.kind not in "fiub":
        return False
    return not _alike(optimized, (plain, _CLOSE * float(np.abs(plain[np.isfinite(plain)]).max(initial=0.0))))


def nodes_for(graph: onnx.GraphProto, names: Iterable[str]) -> list[Any]:
    """The nodes that some values of a graph depend on, in its order."""
    wanted, nodes = set(names), []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            nodes.append(node)
    return nodes[::-1]


def keep_nodes(graph: onnx.GraphProto, nodes: list[Any]) -> None:
    """Leave only these nodes, and no outputs."""
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)


def _recorded(model: Module, args: Args, kwargs: Kwargs, root: str) -> tuple[_Record, Any]:
    args, kwargs = clone(args), clone(dict(kwargs))
    record = _Record(root, pytree.tree_leaves((args, kwargs)))
    with torch.no_grad(), record:
        outputs = model(*args, **kwargs)
    return record, outputs


def _matched(record: _Record, theirs: _Values, strict: bool) -> list[bool]:
    matched: list[bool] = []
    for index, value in enumerate(record.values):
        same = not strict and record.view[index] and all(matched[i] for i in record.inputs[index])
        # What only looks at a wrong value is wrong too, unless its own site made it: not if it just looks like another.
        matched.append(same or theirs.has(value, record.frames[index], only_here=record.view[index]))
    return matched


def _first_wrong(record: _Record, matched: list[bool], start: list[int]) -> list[int]:
    """From some operators back over unmatched values to the first of them."""
    waiting = [index for index in start if not matched[index]]
    seen, first = set(waiting), set()
    while waiting:
        index = waiting.pop()
        before = [i for i in record.inputs[index] if not matched[i] and not record.constant[i]]
        if not before:
            first.add(index)
        waiting += [i for i in before if i not in seen]
        seen.update(before)
    return sorted(first)


def _wrong_answers(record: _Record, theirs: _Values, outputs: Any) -> list[int]:
    """The operators that make an output in whose place the graph has another value."""
    made = [leaf for leaf in pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
    pairs = zip(made, theirs.answers, strict=True) if len(made) == len(theirs.answers) else ()
    return record.producers([value for value, answer in pairs if not _alike(answer, _wanted(value))])


def _places(record: _Record, indices: list[int]) -> list[Frames]:
    frames = (record.frames[index] for index in indices if record.frames[index])
    return first_of_each(frames, key=lambda at: (at[0].path, at[0].line))[:_MOST]


class _Record(OperatorMode):
    """Every operator of one eager run: its result, where it comes from, and the user's frames."""

    def __init__(self, root: str, inputs: list[Any]) -> None:
        super().__init__()
        self.root = root
        self.values: list[torch.Tensor] = []
        self.inputs: list[list[int]] = []
        self.frames: list[Frames] = []
        self.constant: list[bool] = []  # no input went into it, as a transposed weight: exporters fold that away
        self.view: list[bool] = []  # it only looks at another result, and is right where that is
        self._inputs = {id(value) for value in inputs}
        self._made: dict[int, int] = {}
        self._owners: dict[int, torch.Tensor] = {}  # by storage: the tensor that it was allocated for
        self._writers: dict[int, int] = {}  # by storage: the last operator that wrote into it
        self._alive: list[Any] = []  # an id means nothing once its tensor is gone

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        writes = func._schema.is_mutable and isinstance(args[0] if args else None, torch.Tensor)
        result = func(*args, **kwargs)
        tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        sources = self.producers(tensors)
        constant = not any(id(t) in self._inputs for t in tensors) and all(self.constant[i] for i in sources)
        for value in pytree.tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.numel():
                self.view.append(not writes and _storage(value) in self._owners)
                owner = self._owners.setdefault(_storage(value), value)
                # Through a view it changes the whole: that is what must be found again.
                makers, key = (self._writers, _storage(value)) if writes else (self._made, id(value))
                makers[key] = len(self.values)
                self._alive.append(value)
                self.values.append((owner if writes else value).detach().clone())
                self.inputs.append(sources)
                self.frames.append(user_frames(root=self.root))
                self.constant.append(constant)
        return result

    def producers(self, tree: Any) -> list[int]:
        """The operators that the values of the tensors in `tree` come from."""
        tensors = (tensor for tensor in pytree.tree_leaves(tree) if isinstance(tensor, torch.Tensor))
        made = ((self._made.get(id(tensor), -1), self._writers.get(_storage(tensor), -1)) for tensor in tensors)
        return [max(places) for places in made if max(places) >= 0]


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


class _Values:
    """Arrays to be found again by content, each with the site that made it if that is known."""

    def __init__(self, answers: list[Any]) -> None:
        self._by_shape: dict[tuple[int, ...], list[tuple[Any, Site | None]]] = {}
        self._sites: set[Site] = set()
        self.last: dict[tuple[Line, bool], Any] = {}  # by line, and whether it is floating
        self.answers = answers  # the graph's outputs, in their order

    def add(self, array: Any, site: Site | None = None) -> None:
        """Keep one array."""
        if isinstance(array, np.ndarray) and array.dtype.kind in "fiub":
            self._by_shape.setdefault(array.shape, []).append((array, site))
            if site is not None:
                self._sites |= {site, site[:1]}
                self.last[site[0], array.dtype.kind == "f"] = array

    def has(self, value: torch.Tensor, frames: Frames, *, only_here: bool = False) -> bool:
        """Whether an array has this value: one of its site, else of its line, else any, unless `only_here`."""
        site = _site(frames)
        depth = next((n for n in (2, 1) if site is not None and site[:n] in self._sites), 0)
        wanted = _wanted(value)
        return any(
            _alike(array, wanted)
            for array, place in self._by_shape.get(wanted[0].shape, ())
            if (not only_here if place is None or site is None or not depth else place[:depth] == site[:depth])
        )


def _wanted(value: torch.Tensor) -> tuple[Any, float]:
    """A value of eager's as an array, and how far another may be from it."""
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    wanted = value.detach().cpu().to(torch.float64).numpy()
    finite = np.abs(wanted[np.isfinite(wanted)])
    eps = torch.finfo(value.dtype).eps if value.is_floating_point() else 0.0
    return wanted, max(_CLOSE, _ROUNDED * eps) * float(finite.max(initial=0.0))


def _alike(array: Any, wanted: tuple[Any, float]) -> bool:
    value, far = wanted
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" or array.shape != value.shape:
        return False
    return bool(np.allclose(array, value, rtol=0.0, atol=far, equal_nan=True))


def _site(frames: Frames) -> Site | None:
    return tuple((frame.path, frame.line) for frame in frames[:2]) or None


def _intermediates(model: onnx.ModelProto, exported: Exported) -> _Values:
    """All values of one run: every node's results, the inputs and the constants. Raises RuntimeRefused."""
    outputs = {value.name for value in model.graph.output}
    sites: dict[str, Site | None] = dict.fromkeys(outputs)
    for node in model.graph.node:
        sites.update(dict.fromkeys(node.output, _site(onnx_frames(node, exported.root))))
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sites if name and name not in outputs)
    arrays = exported.engine.run_model(model, exported.feeds, optimized=False)
    values = _Values(arrays[: len(outputs)])
    for value, array in zip(model.graph.output, arrays, strict=True):
        values.add(array, sites[value.name])
    for array in (*exported.feeds.values(), *map(onnx.numpy_helper.to_array, model.graph.initializer)):
        values.add(array)
    return values
