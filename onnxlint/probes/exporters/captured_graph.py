"""The canonical form of what dynamo captures, as `probes.graph` has it of traces: without what is not translated."""

from __future__ import annotations

import hashlib
import itertools
import operator
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from onnxlint.probes.common.userspace import python_frames
from onnxlint.probes.exporters.graph import Input, Node, Reader, folded, inherited, tensor_text

# What is captured to be checked while PyTorch runs the graph; ONNX has none of it.
_CHECKS = {
    "aten::_assert_async",
    "aten::_assert_scalar",
    "aten::_assert_tensor_metadata",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
}
_PARAMETERS = (InputKind.PARAMETER, InputKind.BUFFER)


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
                if spec is not None and spec.kind in _PARAMETERS:
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
