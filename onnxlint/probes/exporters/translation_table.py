"""Whether dynamo's operators have a translation to ONNX, told without decomposing the graph, which takes long."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import torch
from torch.onnx._internal.exporter import _dispatching
from torch.utils._python_dispatch import TorchDispatchMode

_CHECK = re.compile(r"aten\._?assert|aten\.sym_constrain")  # they are left out of what is translated


def translatable(program: torch.export.ExportedProgram, registry: Any) -> bool:
    """Whether every operator of a captured graph, or all that it is made of, has a translation.

    False where it has none, and where only the decomposed graph tells.
    """
    doubtful: dict[tuple[Any, int], torch.fx.Node] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if _dispatching.dispatch(node, registry)[0] is None and not _CHECK.match(str(node.target)):
            doubtful.setdefault((node.target, len(node.args)), node)
    return all(_has_translation(part, registry) for node in doubtful.values() for part in _parts(node))


def _has_translation(operator: torch._ops.OpOverload, registry: Any) -> bool:
    """Whether there is a translation of an operator, or of the one that does the same without writing in place."""
    if registry.get_decomps(operator):
        return True
    packet = getattr(getattr(torch.ops, operator.namespace), operator._opname.rstrip("_"), None)
    other = getattr(packet, operator._overloadname, None)
    return bool(operator._schema.is_mutable and other is not None and registry.get_decomps(other))


def _parts(node: torch.fx.Node) -> set[torch._ops.OpOverload]:
    """What an operator consists of: it is run on what it was captured with, fake. Itself where that cannot be told."""
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda argument: argument.meta.get("val"))
    mode = torch._guards.detect_fake_mode([other.meta.get("val") for other in node.graph.nodes])
    parts = _Parts()
    symbols = mode.shape_env if mode is not None else None
    # Sizes that the data tells are made up anew by the run: whoever decomposes the graph would look for them in it.
    unseen = symbols.ignore_fresh_unbacked_symbols() if symbols is not None else contextlib.nullcontext()
    try:
        with mode or torch.no_grad(), unseen, parts:
            node.target(*args, **kwargs)
    except Exception:  # noqa: BLE001 - what does not run alone is looked at in its graph
        return {node.target}
    return parts.operators


class _Parts(TorchDispatchMode):  # type: ignore[misc]
    """Notes every operator that runs; those that PyTorch composes of others never come here."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: set[torch._ops.OpOverload] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.namespace != "prim":  # a question, such as for the device
            self.operators.add(function)
        return function(*args, **(kwargs or {}))
