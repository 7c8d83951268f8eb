"""Calls of methods of values that are no objects of the project: tensors, layers, containers."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint.flow import carried, facts, hazards, layers, pitfalls, special
from onnxlint.flow.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Instance,
    Layer,
    Seq,
    Shape,
    Super,
    Tensor,
    Tuple,
    Value,
)
from onnxlint.flow.exports import record_lightning
from onnxlint.flow.joins import element, join, join_all
from onnxlint.flow.operators import HANDLERS
from onnxlint.flow.special import ITEMS, as_layer, layer_base
from onnxlint.flow.transfer import Call, dict_values

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter

from onnxlint.flow.calls import inplace_write, operator

Kwargs = dict[str, Value]


_OF_CONTAINERS = frozenset(
    ["values", "items", "keys", "get", "pop", "copy", "append", "extend", "index", "count", "update", "to_tuple"]
)


# What keeps the numbers of a numpy array of dimensions, or reckons with them.
_OF_ARRAYS = frozenset(["tolist", "astype", "copy", "item", "prod", "sum", "max", "min", "round"])


# What a Python number can be asked, and a tensor cannot, which a size is while TorchScript traces.
_OF_NUMBERS = frozenset(["is_integer", "as_integer_ratio", "bit_length", "bit_count", "conjugate", "hex"])


def method(engine: Interpreter, owner: Value, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    """A method of a value that is no object of the project."""
    if isinstance(owner, Tensor):
        if (owner.guessed and name in _OF_CONTAINERS) or (name in ("values", "items", "keys") and not args):
            return UNKNOWN
        if name in ("new_tensor",):
            return HANDLERS["tensor"](
                Call(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)
            )
        if name in (
            "copy_",
            "set_",
            "share_memory_",
            "backward",
            "retain_grad",
            "register_hook",
            "is_contiguous",
            "stride",
        ):
            if name == "backward" and engine.tracing:
                hazards.gradient(engine, owner, node)
            if name == "copy_":
                inplace_write(engine, Call(engine, name, name, [owner, *args], kwargs, node, method=True), owner)
                return owner
            return CONFIG
        return operator(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)
    if isinstance(owner, Dim) and owner.site is not None and name in _OF_ARRAYS:
        return owner
    if isinstance(owner, Dim) and owner.site is None and name in _OF_NUMBERS:
        # A size is a tensor to TorchScript whether or not the axis is dynamic; to dynamo a symbol only if it is.
        mask = tuple(e for e in engine.exporters if owner.sure or e == "torchscript")
        if engine.tracing and mask:
            engine.emit(facts.Escape, node, owner.trace, exporters=mask, how=f".{name}()", source="dim")
        return UNKNOWN
    if isinstance(owner, Shape):
        if name == "numel":
            axes = owner.tensor.axes
            return Dim(axes, plain=False, trace=owner.trace) if axes else CONFIG
        return CONFIG
    if isinstance(owner, Array):
        return (
            Array(owner.site, owner.fixed, owner.trace)
            if name not in ("item", "tolist")
            else Data(owner.site, owner.fixed)
        )
    if isinstance(owner, Data):
        return owner
    if isinstance(owner, Layer):
        return _layer_method(engine, owner, name, args, node)
    if isinstance(owner, Dict):
        if name in ("get", "pop", "setdefault") and args:
            pitfalls.looked_up(engine, owner, args[0], node, f".{name}()")
        if name == "setdefault" and len(args) == 2 and isinstance(args[0], Const) and isinstance(node, ast.Call):
            key = args[0].literal
            if owner.get(key) is None:
                _rebind(engine, node, Dict((*owner.items, (key, args[1])), owner.rest, owner.trace))
        return _dict_method(owner, name, args)
    if isinstance(owner, (Tuple, Seq)):
        return _sequence_method(engine, owner, name, args, node)
    if isinstance(owner, Instance):
        if name == "to_onnx" and any("ightning" in b for b in owner.object.cls.external_bases()):
            record_lightning(engine, owner, args, kwargs, node)
        return engine.module_method(owner, name, args, kwargs, node)
    if isinstance(owner, Super):
        bound = owner.bound
        if isinstance(bound, Instance):
            if name == "__init__" and (base := layer_base(bound.object.cls)) is not None:
                bound.object.attrs[ITEMS] = layers.build(base, args, kwargs)
            if name.startswith("__get"):
                return UNKNOWN
            if name == "forward":
                return as_layer(engine, bound, args, kwargs, node) or UNKNOWN
            unit = bound.object.cls.find_method("forward")
            if name == "__call__" and unit is not None:
                return engine.run_forward(bound, unit, args, kwargs, node)
        if name == "train" and args and isinstance(args[0], Const) and args[0].literal is True:
            engine.mode_switch(node)
        return owner.bound
    if isinstance(owner, (Const, Config)):
        return CONFIG
    return UNKNOWN


def _layer_method(engine: Interpreter, owner: Layer, name: str, args: list[Value], node: ast.AST) -> Value:
    if name == "train" and not (args and isinstance(args[0], Const) and args[0].literal is False):
        engine.mode_switch(node)
    if name in ("train", "eval", "to", "float", "half", "cuda", "cpu", "double", "requires_grad_", "apply"):
        return owner
    if name in layers.HOOKS and args and isinstance(node, ast.Call):
        _rebind(engine, node, replace(owner, args=(*owner.args, (name, args[0]))))
        holder = engine.frames[-1].bound or special.only_model(engine.frames[-1])
        if isinstance(holder, Instance) and name == "register_forward_hook":
            special.hook_loosely(engine, holder, args[0], node)
        return CONFIG
    if name in ("forward", "__call__"):
        if name == "forward":
            hazards.bypassed(engine, owner, node)
        return layers.call(engine, owner, args, {}, node)
    if name == "items":
        inner = owner.items
        if isinstance(inner, Dict):
            return (
                Tuple(tuple(Tuple((Const(k), v)) for k, v in inner.items))
                if inner.items
                else Seq(Tuple((CONFIG, inner.rest or UNKNOWN)))
            )
        return Seq(Tuple((CONFIG, UNKNOWN)))
    if name in ("values", "children", "modules") and owner.items is not None:
        return Tuple(tuple(dict_values(owner.items))) if isinstance(owner.items, Dict) else owner.items
    if name in ("append", "extend", "insert", "add_module") and args and isinstance(node, ast.Call):
        item = args[-1]
        if name == "extend" and isinstance(item, (Tuple, Seq)):
            item = element(item)
        grown: Tuple | Seq
        if isinstance(owner.items, Tuple) and len(owner.items.items) < 8 and name == "append":
            grown = Tuple((*owner.items.items, item), "list")
        elif isinstance(owner.items, Tuple) and not owner.items.items:
            grown = Seq(item)
        else:
            old = element(owner.items) if isinstance(owner.items, (Tuple, Seq)) else UNKNOWN
            grown = Seq(join(old, item))
        _rebind(engine, node, replace(owner, items=grown))
        return NONE
    return UNKNOWN


def _rebind(engine: Interpreter, node: ast.Call, v: Value) -> None:
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Name, ast.Attribute)):
        engine.frames[-1].rebind(node.func.value, v)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Subscript):
        engine.frames[-1].assign_item(node.func.value, v)


def _dict_method(owner: Dict, name: str, args: list[Value]) -> Value:
    if name in ("get", "pop", "setdefault"):
        key = args[0] if args else UNKNOWN
        default = args[1] if len(args) > 1 else NONE
        found = owner.get(key.literal) if isinstance(key, Const) else join_all(dict_values(owner))
        return found if found is not None else default
    if name == "items":
        if owner.rest is None and owner.items:
            return Tuple(tuple(Tuple((Const(k), v)) for k, v in owner.items))
        return Seq(Tuple((CONFIG, join_all(dict_values(owner)) or UNKNOWN)))
    if name == "values":
        return Tuple(tuple(dict_values(owner))) if owner.rest is None else Seq(join_all(dict_values(owner)) or UNKNOWN)
    if name == "keys":
        return Seq(CONFIG)
    return owner if name == "copy" else UNKNOWN


def _sequence_method(engine: Interpreter, owner: Tuple | Seq, name: str, args: list[Value], node: ast.AST) -> Value:
    if name in ("append", "appendleft", "extend", "insert", "add") and args and isinstance(node, ast.Call):
        item = args[-1]
        if name == "extend":
            item = element(item) if isinstance(item, (Tuple, Seq)) else UNKNOWN
        if isinstance(node.func, ast.Attribute):
            carried.stored(engine.frames[-1], node.func.value, item)
        if isinstance(owner, Tuple) and len(owner.items) < 8 and name == "append":
            grown: Value = Tuple((*owner.items, item), owner.kind, owner.trace)
        elif isinstance(owner, Tuple) and not owner.items:
            grown = Seq(item)
        else:
            grown = Seq(join(element(owner), item), owner.size if isinstance(owner, Seq) else None, owner.trace)
        _rebind(engine, node, grown)
        return NONE
    if name in ("pop", "popleft"):
        return element(owner)
    if name in ("index", "count"):
        return CONFIG
    return owner if name in ("copy", "__iter__") else UNKNOWN
