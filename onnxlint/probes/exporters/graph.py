"""Canonical form of traced graphs, and their difference: operators, attributes, constants, topology, lines.

Names of values do not matter. Constants and lists are folded into the nodes that use them, so that `[2, -1]` against
`[3, -1]` is one differing constant at the line of the reshape.
"""

import difflib
import hashlib
import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

import numpy
import onnx
import torch
from torch.export.graph_signature import InputKind

from onnxlint.base.records import Location
from onnxlint.probes.common.userspace import python_frames, torchscript_frames

STACK_KEY = "pkg.torch.onnx.stack_trace"

_BY_VALUE = 16  # constants of up to this many elements are shown, larger ones by digest
_LARGE = 4_000  # nodes on each side, from which on aligning them costs more than it tells
_SHOWN = 6  # operators of a differing stretch that are named
# What is captured to be checked while PyTorch runs the graph; ONNX has none of it.
_CHECKS = {f"aten::_assert_{name}" for name in ("async", "scalar", "tensor_metadata")}
_CHECKS |= {"aten::sym_constrain_range", "aten::sym_constrain_range_for_size"}


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
    stretches, same = _stretches(a, b)
    places = (place for _, left, right in stretches for place in zip_longest(left, right))
    return [Pair(i, j, i is None or i not in same or any(_node_differences(a[i], b[same[i]], same))) for i, j in places]


def diff(a: Sequence[Node], b: Sequence[Node]) -> tuple[Difference, ...]:
    """Where two canonical graphs differ; empty if they are the same up to the names of values."""
    stretches, same = _stretches(a, b)
    differing = [_topology(a, b, left, right) for tag, left, right in stretches if tag != "equal"]
    return (*differing, *(difference for i, j in same.items() for difference in _node_differences(a[i], b[j], same)))


def _stretches(a: Sequence[Node], b: Sequence[Node]) -> tuple[list[tuple[str, range, range]], dict[int, int]]:
    """What is equal in two graphs and what is not, by index, and the indices of equal nodes."""
    skeletons = [node.skeleton for node in a], [node.skeleton for node in b]
    stretches = [(tag, range(i1, i2), range(j1, j2)) for tag, i1, i2, j1, j2 in _opcodes(*skeletons)]
    same = {i: j for tag, left, right in stretches if tag == "equal" for i, j in zip(left, right, strict=True)}
    return stretches, same


def _opcodes(a: list[Any], b: list[Any]) -> Iterator[tuple[str, int, int, int, int]]:
    """SequenceMatcher's opcodes, with the common front and back taken off first: equal graphs cost one pass."""
    least = min(len(a), len(b))
    front = next((k for k in range(least) if a[k] != b[k]), least)
    back = next((k for k in range(least - front) if a[-1 - k] != b[-1 - k]), least - front)
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


def _topology(a: Sequence[Node], b: Sequence[Node], one: range, other: range) -> Difference:
    def frames(nodes: Sequence[Node], stretch: range) -> tuple[Location, ...]:
        """Of the first located node in a stretch, else of the last one before it."""
        return next((nodes[k].frames for k in (*stretch, *reversed(range(stretch.start))) if nodes[k].frames), ())

    left, right = frames(a, one), frames(b, other)
    detail = f"{_operators(a[one.start : one.stop])} against {_operators(b[other.start : other.stop])}"
    return Difference("topology", left[0] if left else None, detail, left if one else right)


def _operators(nodes: Sequence[Node]) -> str:
    names = [node.operator for node in nodes[:_SHOWN]]
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return ", ".join(names) + more if names else "nothing"


def _node_differences(x: Node, y: Node, same: dict[int, int]) -> Iterator[Difference]:
    for (name, one), (_, other) in zip(x.attributes, y.attributes, strict=True):
        if one != other:
            yield Difference("attribute", x.location, f"{name} of {x.operator}: {one} against {other}", x.frames)
    for k, (mine, its) in enumerate(zip(x.inputs, y.inputs, strict=True)):
        source = -1 if mine.producer < 0 else same.get(mine.producer)  # None: it differs itself, and is reported
        if mine.kind == "constant" and mine.text != its.text:
            detail = f"input {k} of {x.operator}: {mine.text} against {its.text}"
            yield Difference("constant", x.location, detail, x.frames)
        elif mine.kind == "value" and source is not None and (source, mine.output) != (its.producer, its.output):
            yield Difference("topology", x.location, f"input {k} of {x.operator} comes from elsewhere", x.frames)


def tensor_text(tensor: Any) -> str:
    """A tensor as what is compared and shown: type, shape, and its elements or, of a large one, their digest."""
    kind = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_sparse or tensor.is_quantized or tensor.is_nested:
        return kind
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        array = plain.numpy()
    except TypeError:  # numpy has no such type
        array = plain.float().numpy()
    shape = "×".join(map(str, array.shape)) or "scalar"
    if array.size <= _BY_VALUE:
        return f"{kind} {shape} {array.tolist()}"
    return f"{kind} {shape} sha1 {hashlib.sha1(numpy.ascontiguousarray(array).tobytes()).hexdigest()[:12]}"


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
    """How many bounds of slices a traced graph computes, by line; the tracer records conversions of these as well."""
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
            self.values[next(graph.inputs()).debugName()] = (Input("parameter", "self"),)
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
            self.values[outputs[0]] = (Input("constant", dict(_jit_attributes(node)).get("value", "None")),)
        elif kind == "prim::GetAttr":
            self.values[outputs[0]] = (Input("parameter", f"{self._inputs(node.inputs())[0].text}.{node.s('name')}"),)
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


def _jit_attributes(node: Any) -> tuple[tuple[str, str], ...]:
    def text(name: str, kind: str) -> str:
        if kind == "t":
            return tensor_text(node.t(name))
        return str(getattr(node, kind)(name)) if kind in ("i", "f", "s", "is", "fs", "ss") else kind

    return tuple((name, text(name, node.kindOf(name))) for name in sorted(node.attributeNames()))


def canonical_fx(program: torch.export.ExportedProgram, root: str | None = None) -> tuple[Node, ...]:
    """The canonical form of an exported program, with the lines that it was captured at."""
    return _Fx(root).read(program)


class _Fx(Reader):
    """Reads one graph: folds constants, lists, parameters and the picking of outputs into their consumers."""

    def read(self, program: torch.export.ExportedProgram) -> tuple[Node, ...]:
        specs = {getattr(spec.arg, "name", ""): spec for spec in program.graph_signature.input_specs}
        needless = _needless(program.graph)
        inputs = itertools.count()
        for node in program.graph.nodes:
            if node.op == "placeholder":
                spec = specs.get(node.name)
                if spec is not None and spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                    value = Input("parameter", f"self.{spec.target}")
                elif spec is not None and spec.kind is InputKind.CONSTANT_TENSOR:
                    value = Input("constant", _constant(program.constants.get(spec.target)))
                else:
                    value = Input("value", output=next(inputs))
                self.values[node.name] = (value,)
            elif node.op == "get_attr":
                constant = _constant(getattr(program.graph_module, node.target, None))
                self.values[node.name] = (Input("constant", constant),)
            elif node.op == "output":
                self.nodes.append(Node("return", (), self._inputs(node.args[0]), ()))
            elif node not in needless:
                self._call(node)
        return inherited(self.nodes)

    def _call(self, node: torch.fx.Node) -> None:
        source = self.values.get(node.args[0].name) if node.args and isinstance(node.args[0], torch.fx.Node) else None
        if node.target is operator.getitem and source is not None and source[0].kind == "value":
            self.values[node.name] = (Input("value", producer=source[0].producer, output=node.args[1]),)
            return
        inputs = [part for value in node.args for part in self._input(value)]
        attributes = []
        for name, value in sorted(node.kwargs.items()):
            parts = self._input(value)
            if all(part.kind == "constant" for part in parts):
                attributes.append((name, parts[0].text))
            else:
                inputs += parts
        self.values[node.name] = (Input("value", producer=len(self.nodes)),)
        frames = python_frames(node.meta.get("stack_trace"), self.root)
        self.nodes.append(Node(_operator(node.target), tuple(attributes), tuple(inputs), frames))

    def _inputs(self, values: Any) -> tuple[Input, ...]:
        return tuple(part for value in values for part in self._input(value))

    def _input(self, value: Any) -> tuple[Input, ...]:
        if isinstance(value, torch.fx.Node):
            return self.values.get(value.name, (Input("absent"),))
        if isinstance(value, (list, tuple)):
            return folded(self._inputs(value))
        return (Input("constant", str(value).removeprefix("torch.")),)


def _needless(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The checks, and what is computed for them alone."""
    needless: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        if _operator(node.target) in _CHECKS or (node.users and all(user in needless for user in node.users)):
            needless.add(node)
    return needless


def _operator(target: Any) -> str:
    """The operator as TorchScript names it, of others (of sizes, of subgraphs) the name of the function."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name)
    return str(getattr(target, "__name__", target))


def _constant(value: Any) -> str:
    """A tensor that the graph holds; of the graph of an arm, or of a loop's body, a digest."""
    if isinstance(value, torch.fx.GraphModule):
        return f"graph sha1 {hashlib.sha1(str(value.graph).encode()).hexdigest()[:12]}"
    return tensor_text(value) if isinstance(value, torch.Tensor) else type(value).__name__


def onnx_frames(node: onnx.NodeProto, root: str | None = None) -> tuple[Location, ...]:
    """The user's frames of an ONNX node, innermost first, from `metadata_props` (dynamo) or `doc_string`."""
    stack = next((entry.value for entry in node.metadata_props if entry.key == STACK_KEY), None)
    return torchscript_frames(node.doc_string, root) if stack is None else python_frames(stack, root)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs inside a node, of arms and of loops' bodies, and those inside them."""
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield graph
            for inner in graph.node:
                yield from subgraphs(inner)


def opset_of(model: onnx.ModelProto) -> int | None:
    """The version of the standard operators that a model imports."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)


def inherited(nodes: list[Node]) -> tuple[Node, ...]:
    """Give nodes without a line of their own (casts, `aten::Int`) that of the first node that uses them."""
    frames = [node.frames for node in nodes]
    for index in range(len(nodes) - 1, -1, -1):
        for source in nodes[index].inputs:
            if source.kind == "value" and source.producer >= 0 and not nodes[source.producer].frames:
                frames[source.producer] = frames[index] or frames[source.producer]
    return tuple(replace(node, frames=node.frames or place) for node, place in zip(nodes, frames, strict=True))
