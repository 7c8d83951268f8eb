"""What of a counterexample a person can read: its values, and what its graph has otherwise than the example's."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy
import torch

from onnxlint.base.records import GraphDiff, GraphNode, GraphRow, Location
from onnxlint.probes.exporters import Export, dynamo, graph, line_of
from onnxlint.probes.observe.eager import Eager, Run

_ODD = {"nan": numpy.isnan, "inf": numpy.isposinf, "-inf": numpy.isneginf}
_BY_VALUE = 24  # elements of a tensor that is written out
_MOST_INPUTS = 8
_LONGEST = 48  # characters of a node's constants
_QUICK = 0.05  # seconds of a run, up to which a model is traced only to show its graph
_QUICKLY = 1.0  # seconds of a capture, up to which another one is made only to show its graph
_PLACES = 3  # places at which two graphs differ that are drawn
_AROUND = 2  # rows before and after
_TALLEST = 6  # rows of one place


def values(leaves: Mapping[str, Any]) -> dict[str, str]:
    """The inputs as text: small ones in full, of large ones type, shape and range."""
    return {name: _value(leaf) for name, leaf in list(leaves.items())[:_MOST_INPUTS]}


def _value(leaf: Any) -> str:
    if not isinstance(leaf, torch.Tensor):
        text = repr(leaf)
        return text if len(text) <= 200 else f"{text[:199]}…"
    plain = leaf.detach().cpu()
    kind = f"{str(plain.dtype).removeprefix('torch.')}[{', '.join(map(str, plain.shape))}]"
    large = plain.numel() > _BY_VALUE
    if plain.is_quantized or plain.layout is not torch.strided or (large and plain.is_complex()):
        return kind
    if not large:
        return f"{kind} {_rounded(plain.tolist())}"
    if plain.dtype is torch.bool:
        return f"{kind} {int(plain.sum())} of {plain.numel()} True"
    array = (plain.double() if plain.is_floating_point() else plain).numpy()  # which knows unsigned integers as well
    odd = [f"{count} {name}" for name, test in _ODD.items() if (count := int(test(array).sum()))]
    rest = array[numpy.isfinite(array)]
    summary = [f"from {_rounded(rest.min().item())} to {_rounded(rest.max().item())}"] if rest.size else []
    return f"{kind} {', '.join([*summary, *odd])}"


def _rounded(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_rounded, value))}]"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def graphs(eager: Eager, export: Export, run: Run, place: Location | None, root: str) -> GraphDiff | None:
    """Where the graphs of the example and of another input differ; None where they do not, or are not at hand."""
    if run.leaves is eager.base.leaves:
        return None
    if export.exporter == "torchscript":
        a, b = (_traced(eager, one, root) for one in (eager.base, run))
    else:
        a, b = _captured(eager, export, run, root)
    if not a or not b:
        return None
    rows, skipped = _rows(a, b, place)
    return GraphDiff(eager.base.label, run.label, rows, skipped) if rows else None


def _captured(eager: Eager, export: Export, run: Run, root: str) -> tuple[tuple[graph.Node, ...], ...]:
    """The nodes that the export captured, and those of the same capture of another input, where there is time."""
    first = export.capture
    if first is None or (first.seconds > _QUICKLY and first.seconds > eager.costs.left(math.inf)):
        return (), ()
    if any(size == 1 and eager.base.sizes.get(dim) != 1 for dim, size in run.sizes.items()):
        return (), ()  # the capture takes a 1 for a constant where it takes no other size for one
    try:
        second = dynamo.captured(eager.fresh(), eager.call(run), first.strategy)
    except Exception:  # noqa: BLE001 - what cannot be captured is not drawn
        return (), ()
    return graph.canonical_fx(first.program, root), graph.canonical_fx(second, root) if second is not None else ()


def _traced(eager: Eager, run: Run, root: str) -> tuple[graph.Node, ...]:
    """The nodes of a trace that was made before, or of a new one where that takes no time to speak of."""
    if run.label not in eager.traces and (eager.pace > _QUICK or eager.trace(run, root) is None):
        return ()
    return tuple(_unwrapped(node) for node in graph.canonical_jit(eager.traces[run.label], root))


def _unwrapped(node: graph.Node) -> graph.Node:
    """The node with its parameters by the names that the user knows: what is traced is the model in a wrapper."""
    texts = (i.text.replace("self.model.", "self.", 1) if i.kind == "parameter" else i.text for i in node.inputs)
    return replace(node, inputs=tuple(replace(i, text=text) for i, text in zip(node.inputs, texts, strict=True)))


def _rows(a: Sequence[graph.Node], b: Sequence[graph.Node], place: Location | None) -> tuple[tuple[GraphRow, ...], int]:
    """The rows around the first places that differ, the finding's own line before others, and how many come after."""
    pairs = graph.aligned(a, b)

    def here(start: int) -> bool:
        pair = pairs[start]
        nodes = [side[index] for side, index in ((a, pair.left), (b, pair.right)) if index is not None]
        return place is not None and (place.path, place.line) in map(line_of, nodes)

    starts = [k for k, pair in enumerate(pairs) if pair.differs and not (k and pairs[k - 1].differs)]
    shown: set[int] = set()
    for start in sorted(starts, key=lambda k: (not here(k), k))[:_PLACES]:
        length = len(list(itertools.takewhile(lambda pair: pair.differs, pairs[start : start + _TALLEST])))
        shown |= set(range(max(0, start - _AROUND), min(len(pairs), start + length + _AROUND)))
    order = sorted(shown)
    left_rows = {pairs[k].left: row for row, k in enumerate(order)}
    right_rows = {pairs[k].right: row for row, k in enumerate(order)}
    rows, before = [], 0
    for k in order:
        left, right = _node(a, pairs[k].left, left_rows), _node(b, pairs[k].right, right_rows)
        rows.append(GraphRow(left, right, pairs[k].differs, k - before))
        before = k + 1
    return tuple(rows), len(pairs) - before


def _node(nodes: Sequence[graph.Node], index: int | None, rows: Mapping[int | None, int]) -> GraphNode | None:
    if index is None:
        return None
    node = nodes[index]
    constants = [i.text for i in node.inputs if i.kind in ("constant", "parameter") and i.text != "None"]
    detail = ", ".join([*constants, *(f"{name}={value}" for name, value in node.attributes)])
    sources = sorted({rows[i.producer] for i in node.inputs if i.kind == "value" and i.producer in rows})
    short = detail if len(detail) <= _LONGEST else f"{detail[: _LONGEST - 1]}…"
    return GraphNode(node.operator, short, tuple(sources), node.location)
