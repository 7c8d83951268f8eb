"""Canonical form of traced graphs, and their difference: operators, attributes, constants, topology, lines.

Names of values do not matter. Constants and lists are folded into the nodes that use them, so that `[2, -1]` against
`[3, -1]` is one differing constant at the line of the reshape.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

import numpy
import onnx

from onnxlint.base.records import Location
from onnxlint.probes.common.userspace import python_frames, torchscript_frames

STACK_KEY = "pkg.torch.onnx.stack_trace"

_BY_VALUE = 16  # constants of up to this many elements are shown, larger ones by digest
_LARGE = 4_000  # nodes on each side, from which on aligning them costs more than it tells
_SHOWN = 6  # operators of a differing stretch that are named


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a node: a constant (its text), a parameter (its path), or a value (`producer`, -1 for an input)."""

    kind: Literal["constant", "parameter", "value", "absent"]
    text: str = ""
    producer: int = -1
    output: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """An operator with everything that distinguishes it; `frames` are the user's, innermost first."""

    operator: str
    attributes: tuple[tuple[str, str], ...]
    inputs: tuple[Input, ...]
    frames: tuple[Location, ...]

    @property
    def location(self) -> Location | None:
        """The user's line that made the node."""
        return self.frames[0] if self.frames else None

    @property
    def skeleton(self) -> tuple[Any, ...]:
        """What must be equal for two nodes to be the same node: not its constants, not where its inputs come from."""
        inputs = tuple((i.kind, i.text if i.kind == "parameter" else "") for i in self.inputs)
        return self.operator, tuple(name for name, _ in self.attributes), inputs, self.location


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the second graph is not the first. What the first has not got is located before it."""

    kind: Literal["constant", "attribute", "topology"]
    location: Location | None
    detail: str
    frames: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """The same place of two graphs: indices of their nodes, None where one of them has none there."""

    left: int | None
    right: int | None
    differs: bool


def aligned(a: Sequence[Node], b: Sequence[Node]) -> list[Pair]:
    """Both graphs from the front to the back, with what is the same side by side."""
    pairs: list[Pair] = []
    same: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in _opcodes([n.skeleton for n in a], [n.skeleton for n in b]):
        if tag == "equal":
            same.update(zip(range(i1, i2), range(j1, j2), strict=True))
        pairs += (Pair(i, j, tag != "equal") for i, j in zip_longest(range(i1, i2), range(j1, j2)))
    for place, (left, right, differs) in enumerate((p.left, p.right, p.differs) for p in pairs):
        if left is not None and right is not None and not differs and any(_node_differences(a[left], b[right], same)):
            pairs[place] = Pair(left, right, True)
    return pairs


def diff(a: Sequence[Node], b: Sequence[Node]) -> tuple[Difference, ...]:
    """Where two canonical graphs differ; empty if they are the same up to the names of values."""
    differences: list[Difference] = []
    same: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in _opcodes([n.skeleton for n in a], [n.skeleton for n in b]):
        if tag == "equal":
            same.update(zip(range(i1, i2), range(j1, j2), strict=True))
        else:
            differences.append(_topology(a, b, (i1, i2), (j1, j2)))
    for i, j in same.items():
        differences.extend(_node_differences(a[i], b[j], same))
    return tuple(differences)


def _opcodes(a: list[Any], b: list[Any]) -> Iterator[tuple[str, int, int, int, int]]:
    """SequenceMatcher's opcodes, with the common front and back taken off first: equal graphs cost one pass."""
    front = 0
    while front < min(len(a), len(b)) and a[front] == b[front]:
        front += 1
    back = 0
    while back < min(len(a), len(b)) - front and a[-1 - back] == b[-1 - back]:
        back += 1
    if front:
        yield "equal", 0, front, 0, front
    rest_a, rest_b = a[front : len(a) - back], b[front : len(b) - back]
    if min(len(rest_a), len(rest_b)) > _LARGE:
        yield "replace", front, len(a) - back, front, len(b) - back
    elif rest_a or rest_b:
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, rest_a, rest_b, autojunk=False).get_opcodes():
            yield tag, front + i1, front + i2, front + j1, front + j2
    if back:
        yield "equal", len(a) - back, len(a), len(b) - back, len(b)


def _topology(a: Sequence[Node], b: Sequence[Node], one: tuple[int, int], other: tuple[int, int]) -> Difference:
    left, right = _frames_of(a, *one), _frames_of(b, *other)
    detail = f"{_operators(a[slice(*one)])} against {_operators(b[slice(*other)])}"
    return Difference("topology", left[0] if left else None, detail, left if one[0] < one[1] else right)


def _frames_of(nodes: Sequence[Node], start: int, end: int) -> tuple[Location, ...]:
    """Of the first located node in a stretch, else of the last one before it."""
    for node in (*nodes[start:end], *reversed(nodes[:start])):
        if node.frames:
            return node.frames
    return ()


def _operators(nodes: Sequence[Node]) -> str:
    names = [node.operator for node in nodes[:_SHOWN]]
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(names) + more if names else "nothing"


def _node_differences(x: Node, y: Node, same: dict[int, int]) -> Iterator[Difference]:
    for (name, one), (_, other) in zip(x.attributes, y.attributes, strict=True):
        if one != other:
            detail = f"{name} of {x.operator}: {one} against {other}"
            yield Difference("attribute", x.location, detail, x.frames)
    for k, (mine, its) in enumerate(zip(x.inputs, y.inputs, strict=True)):
        if mine.kind == "constant" and mine.text != its.text:
            detail = f"input {k} of {x.operator}: {mine.text} against {its.text}"
            yield Difference("constant", x.location, detail, x.frames)
        elif mine.kind == "value" and not _same_source(mine, its, same):
            detail = f"input {k} of {x.operator} comes from elsewhere"
            yield Difference("topology", x.location, detail, x.frames)


def _same_source(mine: Input, its: Input, same: dict[int, int]) -> bool:
    if mine.producer >= 0 and mine.producer not in same:
        return True  # the producer itself differs, and is reported
    return (same.get(mine.producer, mine.producer), mine.output) == (its.producer, its.output)


def array_text(value: Any) -> str:
    """An array as what is compared and shown: type, shape, and its elements or, of a large one, their digest."""
    array = numpy.asarray(value)
    shape = "×".join(map(str, array.shape)) or "scalar"
    if array.size <= _BY_VALUE:
        return f"{array.dtype} {shape} {array.tolist()}"
    data = numpy.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode()
    return f"{array.dtype} {shape} sha1 {hashlib.sha1(data).hexdigest()[:12]}"


def tensor_text(tensor: Any) -> str:
    """The same of a tensor; of one whose elements numpy has no type for, by what float32 makes of them."""
    kind = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_sparse or tensor.is_quantized or tensor.is_nested:
        return kind
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        return array_text(plain.numpy())
    except TypeError:
        return array_text(plain.float().numpy()).replace("float32", kind, 1)


def canonical_jit(graph: Any, root: str | None = None) -> tuple[Node, ...]:
    """The canonical form of a `torch.jit` graph, such as `torch.jit.trace(…).inlined_graph`."""
    return _Jit(root).read(graph)


def jit_nodes(block: Any) -> Iterator[Any]:
    """Every node of a `torch.jit` graph, those of its nested blocks too."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from jit_nodes(inner)


def jit_frames(node: Any, root: str | None = None) -> tuple[Location, ...]:
    """The user's frames of a `torch.jit` node, innermost first; empty if it has none of its own."""
    text = node.sourceRange()
    return torchscript_frames(text, root) or python_frames(text, root)  # traced code, or scripted code


def computed_bounds(graph: Any, root: str | None = None) -> Counter[tuple[str, int]]:
    """How many bounds of slices a traced graph computes, by line: of these no value was kept for ever.

    The tracer records such a bound and asks for its index as well, with the warning of a conversion.
    """
    counts: Counter[tuple[str, int]] = Counter()
    for node in graph.nodes():
        bounds = list(node.inputs())[2:4] if node.kind() == "aten::slice" else []
        computed = sum(value.node().kind() not in ("prim::Constant", "prim::Param") for value in bounds)
        frames = jit_frames(node, root) if computed else ()
        if frames:
            counts[frames[0].path, frames[0].line] += computed
    return counts


class Reader:
    """What the readers of one graph gather: its nodes, and what each value folds into its consumers."""

    def __init__(self, root: str | None) -> None:
        self.root = root
        self.nodes: list[Node] = []
        self.values: dict[str, tuple[Input, ...]] = {}


class _Jit(Reader):
    """Reads one graph: folds constants, lists and parameters into their consumers, and inlines nested blocks."""

    def read(self, graph: Any) -> tuple[Node, ...]:
        for k, value in enumerate(graph.inputs()):
            self.values[value.debugName()] = (Input("value", output=k),)
        if any(node.kind() == "prim::GetAttr" for node in graph.nodes()):
            module = next(graph.inputs())  # `self`
            self.values[module.debugName()] = (Input("parameter", "self"),)
        self._block(graph)
        return inherited(self.nodes)

    def _block(self, block: Any) -> None:
        for node in block.nodes():
            self._node(node)
        self.nodes.append(Node("return", (), self._inputs(block.outputs()), ()))

    def _inputs(self, values: Iterable[Any]) -> tuple[Input, ...]:
        return tuple(part for value in values for part in self.values.get(value.debugName(), (Input("absent"),)))

    def _node(self, node: Any) -> None:
        kind = node.kind()
        outputs = [value.debugName() for value in node.outputs()]
        if kind == "prim::Constant":
            self.values[outputs[0]] = (Input("constant", _jit_constant(node)),)
        elif kind == "prim::GetAttr":
            owner = self._inputs(node.inputs())[0].text
            self.values[outputs[0]] = (Input("parameter", f"{owner}.{node.s('name')}"),)
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            self.values[outputs[0]] = folded(self._inputs(node.inputs()))
        else:
            index, inputs = len(self.nodes), self._inputs(node.inputs())
            self.nodes.append(Node(kind, _jit_attributes(node), inputs, jit_frames(node, self.root)))
            for block in node.blocks():
                for k, value in enumerate(block.inputs()):
                    self.values[value.debugName()] = (Input("value", producer=index, output=-1 - k),)
                self._block(block)
            for k, name in enumerate(outputs):
                self.values[name] = (Input("value", producer=index, output=k),)


def folded(parts: tuple[Input, ...]) -> tuple[Input, ...]:
    """A list in its consumer: brackets around its parts, so that lists of other lengths are other skeletons."""
    if all(part.kind == "constant" for part in parts):
        return (Input("constant", f"[{', '.join(part.text for part in parts)}]"),)
    return (Input("absent", "["), *parts, Input("absent", "]"))


def _jit_constant(node: Any) -> str:
    attributes = _jit_attributes(node)
    return attributes[0][1] if attributes else "None"


def _jit_attributes(node: Any) -> tuple[tuple[str, str], ...]:
    attributes = []
    for name in sorted(node.attributeNames()):
        kind = node.kindOf(name)
        if kind == "t":
            attributes.append((name, tensor_text(node.t(name))))
        elif kind in ("i", "f", "s", "is", "fs", "ss"):
            attributes.append((name, str(getattr(node, kind)(name))))
        else:
            attributes.append((name, kind))
    return tuple(attributes)


def onnx_frames(node: onnx.NodeProto, root: str | None = None) -> tuple[Location, ...]:
    """The user's frames of an ONNX node, innermost first, from `metadata_props` (dynamo) or `doc_string`."""
    for entry in node.metadata_props:
        if entry.key == STACK_KEY:
            return python_frames(entry.value, root)
    return torchscript_frames(node.doc_string, root)


def inherited(nodes: list[Node]) -> tuple[Node, ...]:
    """Give nodes without a line of their own (casts, `aten::Int`) that of the first node that uses them."""
    frames = [node.frames for node in nodes]
    for index in range(len(nodes) - 1, -1, -1):
        for source in nodes[index].inputs:
            if source.kind == "value" and source.producer >= 0 and not nodes[source.producer].frames:
                frames[source.producer] = frames[index] or frames[source.producer]
    return tuple(replace(node, frames=node.frames or place) for node, place in zip(nodes, frames, strict=True))
