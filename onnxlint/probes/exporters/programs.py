"""Exported programs, as what `torch.export.export` returned is handed to `torch.onnx.export`: name, inputs, dims."""

import sys
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxlint.probes.exporters import Example

PROGRAM = "program"  # the option of an example under which the dynamo exporter finds the program to translate


def class_of(program: ExportedProgram) -> tuple[str, str] | None:
    """Module and name of the class that the program was made of, as its graph tells them; None where it does not."""
    for node in program.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            module, _, name = str(kind).rpartition(".")
            if module:  # what was decomposed does not tell
                return module, name
    return None


def dims_of(program: ExportedProgram, example: Example) -> tuple[dict[str, dict[int, str]], dict[str, tuple[int, int]]]:
    """The dynamic axes of the inputs by leaf, but for those computed from others, and the limits of each dim."""
    dynamic: dict[str, dict[int, str]] = {}
    tied: set[str] = set()
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs = (spec.arg for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT)
    for leaf, argument in zip(example.leaf_names(), inputs, strict=False):
        value = placeholders.get(getattr(argument, "name", ""))
        for axis, size in enumerate(value.shape if leaf and isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                if size.node.expr.is_symbol:
                    dynamic.setdefault(leaf, {})[axis] = str(size.node.expr)
                else:
                    tied |= {str(symbol) for symbol in size.node.expr.free_symbols}
    limits = {str(s): (_bound(bounds.lower), _bound(bounds.upper)) for s, bounds in program.range_constraints.items()}
    loose = {leaf: {axis: dim for axis, dim in axes.items() if dim not in tied} for leaf, axes in dynamic.items()}
    return {leaf: axes for leaf, axes in loose.items() if axes}, limits


def _bound(value: Any) -> int:
    """A bound as a number; infinity, of which sympy has several kinds, as the largest one."""
    return min(int(value), sys.maxsize) if isinstance(value, (int, sympy.Integer)) else sys.maxsize
