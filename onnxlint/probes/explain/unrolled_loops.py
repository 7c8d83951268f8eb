"""Loops that an export wrote out: the same nodes again and again, once for every element of an input's axis."""

from __future__ import annotations

import ast
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from onnxlint.base.records import Cause, Evidence, Probe
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.explain.lost_inputs import long_axes, narrowed
from onnxlint.probes.exporters import Frames, graph, torchscript
from onnxlint.probes.observe.eager import Eager
from onnxlint.probes.observe.observe import observe

_TIMES = 16  # that a stretch occurs
_NODES = 100  # in all of them: fewer cost nothing
_SCOPES = "pkg.torch.onnx.name_scopes"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one line of the source became: `times` copies, `nodes` in all."""

    frames: Frames
    times: int
    nodes: int


def unrolled(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Evidence]:
    """The lines whose nodes grow in number with a size of the input; cheap where nothing is repeated."""
    if confirmation.runtime is None:
        return []
    model = confirmation.runtime.model
    evidence = []
    for stretch in repeated(model, probe.root):
        grown = _grows(probe, eager, stretch)
        if grown:
            detail = (
                f"the graph has {stretch.times} copies of what this line does, {stretch.nodes} of its "
                f"{len(model.graph.node)} nodes: one for each element of {grown}, as half of that axis shows"
            )
            evidence.append(confirmation.remark(probe, Cause.UNROLLED, stretch.frames, detail))
    return evidence


def repeated(model: onnx.ModelProto, root: str) -> list[Stretch]:
    """The stretches that occur often enough, the largest first; the layers of a list are modules of their own."""
    lines: dict[Frames, Counter[tuple[str, str]]] = defaultdict(Counter)
    for node in model.graph.node:
        frames = graph.onnx_frames(node, root)
        if frames:
            lines[frames][_scope(node), node.op_type] += 1
    stretches = []
    for frames, kinds in lines.items():
        often = [count for count in kinds.values() if count >= _TIMES]
        if often and sum(often) >= _NODES:
            stretches.append(Stretch(frames, Counter(often).most_common(1)[0][0], sum(often)))
    return sorted(stretches, key=lambda stretch: -stretch.nodes)


def _scope(node: onnx.NodeProto) -> str:
    """The module that a node belongs to."""
    scopes = next((entry.value for entry in node.metadata_props if entry.key == _SCOPES), None)
    if scopes is None:
        return str(node.name).rpartition("/")[0]
    try:
        return str(ast.literal_eval(scopes)[:-1])
    except (ValueError, SyntaxError):
        return str(scopes)


def _grows(probe: Probe, eager: Eager, stretch: Stretch) -> str:
    """The axis of an input with which the stretch grows, in words; empty where there is none."""
    whole = _traced(probe, eager, eager.base.args, eager.base.kwargs, stretch)
    for words, args, kwargs in _halved(eager, stretch.times) if whole else ():
        if observe(eager.inference(), args, kwargs).error is not None:
            continue
        half = _traced(probe, eager, args, kwargs, stretch)
        if 0 < half <= 0.75 * whole:
            return words
    return ""


def _halved(eager: Eager, times: int) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The example with half of an axis that is as long as the stretch occurs: of one input, then of all that fit."""
    fitting = [(name, axis, size) for name, axis, size in long_axes(eager) if abs(size - times) <= 1]
    for name, axis, size in fitting:
        words = f"axis {axis} of `{name}`"
        yield words, *narrowed(eager, {name: [axis]}, size)
        others = {other: [its] for other, its, length in fitting if length == size and other != name}
        if others:
            yield words, *narrowed(eager, {**others, name: [axis]}, size)


def _traced(probe: Probe, eager: Eager, args: Sequence[Any], kwargs: dict[str, Any], stretch: Stretch) -> int:
    """How many nodes the line has when this input is traced; 0 where it cannot be traced."""
    place = stretch.frames[0]
    try:
        traced, _ = torchscript.trace(eager.fresh().eval(), eager.example.called_with(tuple(args), kwargs), probe.root)
    except Exception:  # noqa: BLE001 - what cannot be traced is not measured, and nothing is said of it
        return 0
    frames = [graph.jit_frames(node, probe.root)[:1] for node in graph.jit_nodes(traced)]
    return sum((at.path, at.line) == (place.path, place.line) for at in itertools.chain(*frames))
