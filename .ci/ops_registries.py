"""What the registries of both exporters say that they can lower, and since which opset."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import torch
from ops_torch import aliases, overloads, packet
from torch.onnx._internal import torchscript_exporter
from torch.onnx._internal.exporter import _registration
from torch.onnx._internal.torchscript_exporter import registration


@cache
def torchscript_registry() -> dict[str, int]:
    """Operator → lowest opset at which the TorchScript exporter knows a symbolic function for it."""
    for module in pkgutil.iter_modules(torchscript_exporter.__path__):
        if module.name.startswith("symbolic_opset"):
            importlib.import_module(f"{torchscript_exporter.__name__}.{module.name}")
    known = {}
    for name in registration.registry.all_functions():
        group = registration.registry.get_function_group(name)
        domain, _, short = name.partition("::")
        if domain in ("aten", "prim") and group is not None:
            known[short] = max(9, group.get_min_supported())
    return known


@cache
def dynamo_registry() -> dict[str, int]:
    """Operator → lowest opset at which the dynamo exporter knows a translation for one of its overloads."""
    known: dict[str, int] = {}
    for target, metas in _registration.ONNXRegistry.from_torchlib(opset_version=23).functions.items():
        if isinstance(target, str) and target.startswith("aten::"):
            short = target.removeprefix("aten::").split(".")[0]
            lowest = min(meta.opset_introduced for meta in metas)
            known[short] = min(known.get(short, 99), max(18, lowest))
    return known


def registered(name: str) -> dict[str, int | None]:
    """What both registries say of an aten operator; a key is missing where they cannot tell."""
    names = [name, *([name[:-1]] if name.endswith("_") else [])]
    names += [aliases()[n] for n in names if n in aliases()]
    script = [torchscript_registry()[n] for n in names if n in torchscript_registry()]
    lowering: dict[str, int | None] = {"torchscript": min(script) if script else None}
    dynamo = [dynamo_registry()[n] for n in names if n in dynamo_registry()]
    every = [o for n in names for o in overloads(n)]
    if min(dynamo, default=99) == 18 or any(o in torch._decomp.decomposition_table for o in every):
        lowering["dynamo"] = 18
    elif any(composite(o) for o in every):
        pass  # it depends on the operators it is made of
    elif every:
        lowering["dynamo"] = min(dynamo, default=None)
    return lowering


def composite(overload: Any) -> bool:
    """Whether torch.export takes an operator apart by its own kernel; operators of TorchScript alone have none."""
    name = overload.name()
    if not torch._C._dispatch_has_kernel(name):
        return False
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


def lowering_of_body(names: list[str]) -> dict[str, int | None]:
    """The lowering of a Python function that calls `names`: known only where every one of them lowers."""
    lowering: dict[str, int | None] = {}
    for exporter in ("torchscript", "dynamo"):
        opsets = [registered(n).get(exporter) for n in names if packet(n) is not None]
        if opsets and None not in opsets:
            lowering[exporter] = max(o for o in opsets if o is not None)
    return lowering
