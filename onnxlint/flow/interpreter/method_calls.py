"""Calls of methods of values that are no objects of the project: tensors, layers, containers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from onnxlint.flow.exports.call_sites import KEEPS
from onnxlint.flow.exports.export_calls import record_lightning
from onnxlint.flow.interpreter.builtin_calls import BUILTINS
from onnxlint.flow.interpreter.library_calls import inplace_write, operator
from onnxlint.flow.lowering import layer_calls, sizes_as_numbers, unexportable_calls
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.operators.transfer import Call, Handler, dict_values
from onnxlint.flow.python import implicit_calls, outside_state
from onnxlint.flow.python.entry_parameters import TENSOR_NAMES
from onnxlint.flow.python.implicit_calls import ITEMS, as_layer, layer_base
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Engine
from onnxlint.flow.values.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Instance,
    Layer,
    Scripted,
    Seq,
    Shape,
    Super,
    Tensor,
    Tuple,
    Value,
)
from onnxlint.flow.values.joins import element, join, join_all, updated

Kwargs = dict[str, Value]


_OF_CONTAINERS = frozenset(
    ["values", "items", "keys", "get", "pop", "copy", "append", "extend", "index", "count", "update", "to_tuple"]
)


# What keeps the numbers of a numpy array of dimensions, or reckons with them.
_OF_ARRAYS = frozenset(["tolist", "astype", "copy", "item", "prod", "sum", "max", "min", "round"])


# What a Python number can be asked, and a tensor cannot, which a size is while TorchScript traces.
_OF_NUMBERS = frozenset(["is_integer", "as_integer_ratio", "bit_length", "bit_count", "conjugate", "hex"])


def method(engine: Engine, owner: Value, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    """A method of a value that is no object of the project."""
    handler = _METHODS.get(type(owner))
    return handler(engine, owner, name, args, kwargs, node) if handler is not None else UNKNOWN


def _of_tensor(engine: Engine, owner: Tensor, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    if (owner.guessed and name in _OF_CONTAINERS) or (name in ("values", "items", "keys") and not args):
        return UNKNOWN
    handler = _TENSOR_METHODS.get(name)
    if handler is not None:
        return handler(Call(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True))
    return operator(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)


def _backward(call: Call) -> Value:
    if call.engine.context.tracing:
        unexportable_calls.gradient(call.engine, call.tensor, call.node)
    return CONFIG


def _copied(call: Call) -> Value:
    inplace_write(call.engine, call, call.tensor)
    return call.tensor


# Methods of a tensor that are no operators of a graph.
_TENSOR_METHODS: dict[str, Handler] = {
    "new_tensor": HANDLERS["tensor"],
    "copy_": _copied,
    "backward": _backward,
    **dict.fromkeys(
        ("set_", "share_memory_", "retain_grad", "register_hook", "is_contiguous", "stride"), lambda call: CONFIG
    ),
}


def _of_size(engine: Engine, owner: Dim, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    del args, kwargs
    if owner.site is not None:
        return owner if name in _OF_ARRAYS else UNKNOWN
    if name in _OF_NUMBERS:
        # A size is a tensor to TorchScript whether or not the axis is dynamic; to dynamo a symbol only if it is.
        mask = tuple(e for e in engine.context.exporters if owner.sure or e == "torchscript")
        if engine.context.tracing and mask:
            engine.emit(observations.Escape, node, owner.trace, exporters=mask, how=f".{name}()", source="dim")
    return UNKNOWN


def _of_shape(_engine: Engine, owner: Shape, name: str, *_: object) -> Value:
    axes = owner.tensor.axes if name == "numel" else None
    return Dim(axes, plain=False, trace=owner.trace) if axes else CONFIG


def _of_array(_engine: Engine, owner: Array, name: str, *_: object) -> Value:
    if name in ("item", "tolist"):
        return Data(owner.site, owner.fixed)
    return Array(owner.site, owner.fixed, owner.trace)


def _of_dict(engine: Engine, owner: Dict, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    if name in ("get", "pop", "setdefault") and args:
        sizes_as_numbers.looked_up(engine, owner, args[0], node, f".{name}()")
    if name == "setdefault" and len(args) == 2 and isinstance(args[0], Const) and isinstance(node, ast.Call):
        key = args[0].literal
        if owner.get(key) is None:
            _rebind(engine, node, Dict((*owner.items, (key, args[1])), owner.rest, owner.trace))
    if name == "update" and isinstance(node, ast.Call):
        plain = "**" not in kwargs and all(isinstance(a, (Dict, Tuple, Seq)) for a in args)
        new = BUILTINS["dict"](engine, args, kwargs, node) if plain else Dict((), UNKNOWN)
        _rebind(engine, node, updated(owner, new) if isinstance(new, Dict) else owner)
        return NONE
    result = _dict_method(owner, name, args)
    if name == "pop" and args and isinstance(args[0], Const) and isinstance(node, ast.Call):
        _rebind(engine, node, owner.without(args[0].literal))
    return result


def _of_object(engine: Engine, owner: Instance, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    if name == "to_onnx" and any("ightning" in b for b in owner.object.cls.external_bases()):
        record_lightning(engine, owner, args, kwargs, node)
    return engine.module_method(owner, name, args, kwargs, node)


def _of_class(engine: Engine, owner: ClassRef, name: str, *_: object) -> Value:
    """What class methods of Lightning and transformers build of a class of the project."""
    if name not in ("load_from_checkpoint", "from_pretrained", "from_config") or not owner.info.is_module():
        return UNKNOWN
    return Instance(engine.model(owner.info), mode="eval" if name == "from_pretrained" else "")


def _of_super(engine: Engine, owner: Super, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    if isinstance(owner.bound, Instance):
        result = _inherited(engine, owner.bound, name, args, kwargs, node)
        if result is not None:
            return result
    if name == "train" and args and isinstance(args[0], Const) and args[0].literal is True:
        engine.mode_switch(node)
    return owner.bound


def _inherited(
    engine: Engine, bound: Instance, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST
) -> Value | None:
    """What a method of a base class outside of the project gives; None where it gives the object itself."""
    cls = bound.object.cls
    if name == "__init__" and (base := layer_base(cls)) is not None:
        bound.object.attrs[ITEMS] = layer_calls.build(base, args, kwargs)
    if name.startswith("__get"):
        return UNKNOWN
    if name == "forward":
        return as_layer(engine, bound, args, kwargs, node) or UNKNOWN
    unit = cls.find_method("forward") if name == "__call__" else None
    return engine.run_forward(bound, unit, args, kwargs, node) if unit is not None else None


def _of_layer(engine: Engine, owner: Layer, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    del kwargs
    handler = _LAYER_METHODS.get(name)
    return handler(engine, owner, name, args, node) if handler is not None else UNKNOWN


def _itself(engine: Engine, owner: Layer, name: str, args: list[Value], node: ast.AST) -> Value:
    if name == "train" and not (args and isinstance(args[0], Const) and args[0].literal is False):
        engine.mode_switch(node)
    return owner


def _hooked(engine: Engine, owner: Layer, name: str, args: list[Value], node: ast.AST) -> Value:
    if not args or not isinstance(node, ast.Call):
        return UNKNOWN
    _rebind(engine, node, replace(owner, args=(*owner.args, (name, args[0]))))
    holder = engine.frames[-1].bound or implicit_calls.only_model(engine.frames[-1])
    if isinstance(holder, Instance) and name == "register_forward_hook":
        implicit_calls.hook_loosely(engine, holder, args[0], node)
    return CONFIG


def _forward(engine: Engine, owner: Layer, name: str, args: list[Value], node: ast.AST) -> Value:
    if name == "forward":
        unexportable_calls.bypassed(engine, owner, node)
    return layer_calls.call(engine, owner, args, {}, node)


def _named_layers(_engine: Engine, owner: Layer, *_: object) -> Value:
    inner = owner.items
    if not isinstance(inner, Dict):
        return Seq(Tuple((CONFIG, UNKNOWN)))
    if inner.items:
        return Tuple(tuple(Tuple((Const(k), v)) for k, v in inner.items))
    return Seq(Tuple((CONFIG, inner.rest or UNKNOWN)))


def _layers_within(_engine: Engine, owner: Layer, *_: object) -> Value:
    if isinstance(owner.items, Dict):
        return Tuple(tuple(dict_values(owner.items)))
    return owner.items if owner.items is not None else UNKNOWN


def _layer_added(engine: Engine, owner: Layer, name: str, args: list[Value], node: ast.AST) -> Value:
    if not args or not isinstance(node, ast.Call):
        return UNKNOWN
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


_LAYER_METHODS: dict[str, Callable[[Engine, Layer, str, list[Value], ast.AST], Value]] = {
    **dict.fromkeys(
        ("train", "eval", "to", "float", "half", "cuda", "cpu", "double", "requires_grad_", "apply"), _itself
    ),
    **dict.fromkeys(layer_calls.HOOKS, _hooked),
    **dict.fromkeys(("forward", "__call__"), _forward),
    "items": _named_layers,
    **dict.fromkeys(("values", "children", "modules"), _layers_within),
    **dict.fromkeys(("append", "extend", "insert", "add_module"), _layer_added),
}


def _rebind(engine: Engine, node: ast.Call, v: Value) -> None:
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Name, ast.Attribute)):
        engine.frames[-1].rebind(node.func.value, v)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Subscript):
        engine.frames[-1].assign_item(node.func.value, v)


def _dict_method(owner: Dict, name: str, args: list[Value]) -> Value:
    if name in ("get", "pop", "setdefault"):
        key = args[0] if args else UNKNOWN
        default = args[1] if len(args) > 1 else NONE
        value = owner.get(key.literal) if isinstance(key, Const) else join_all(dict_values(owner))
        if isinstance(key, Const) and len(args) < 2 and value is owner.rest and isinstance(value, Tensor):
            return value if key.literal in TENSOR_NAMES else UNKNOWN  # an input that may be left out
        return value if value is not None else default
    if name == "items":
        if owner.rest is None and owner.items:
            return Tuple(tuple(Tuple((Const(k), v)) for k, v in owner.items))
        return Seq(Tuple((CONFIG, join_all(dict_values(owner)) or UNKNOWN)))
    if name == "values":
        return Tuple(tuple(dict_values(owner))) if owner.rest is None else Seq(join_all(dict_values(owner)) or UNKNOWN)
    if name == "keys":
        return Tuple(tuple(Const(k) for k, _ in owner.items)) if owner.rest is None else Seq(CONFIG)
    return owner if name in ("copy", "to", "cpu", "cuda") else UNKNOWN


def _of_sequence(
    engine: Engine, owner: Tuple | Seq, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST
) -> Value:
    del kwargs
    if name in ("append", "appendleft", "extend", "insert", "add") and args and isinstance(node, ast.Call):
        item = args[-1]
        if name == "extend":
            item = element(item) if isinstance(item, (Tuple, Seq)) else UNKNOWN
        if isinstance(node.func, ast.Attribute):
            outside_state.stored(engine.frames[-1], node.func.value, item)
        if isinstance(owner, Tuple) and len(owner.items) < 8 and name == "append":
            grown: Value = Tuple((*owner.items, item), owner.kind, owner.trace)
        elif isinstance(owner, Tuple) and not owner.items:
            grown = Seq(item)
        else:
            grown = Seq(join(element(owner), item), owner.size if isinstance(owner, Seq) else None, owner.trace)
        _rebind(engine, node, grown)
        return NONE
    if name == "remove" and args and isinstance(owner, Tuple) and args[0] in owner.items and isinstance(node, ast.Call):
        at = owner.items.index(args[0])
        _rebind(engine, node, replace(owner, items=owner.items[:at] + owner.items[at + 1 :]))
        return NONE
    if name in ("pop", "popleft"):
        return element(owner)
    if name in ("index", "count"):
        return CONFIG
    return owner if name in ("copy", "__iter__") else UNKNOWN


_METHODS: dict[type, Callable[..., Value]] = {
    Tensor: _of_tensor,
    Dim: _of_size,
    Shape: _of_shape,
    Array: _of_array,
    Data: lambda engine, owner, *_: owner,
    Layer: _of_layer,
    Dict: _of_dict,
    Tuple: _of_sequence,
    Seq: _of_sequence,
    Instance: _of_object,
    Super: _of_super,
    ClassRef: _of_class,
    Scripted: lambda engine, owner, name, *_: owner if name in (*KEEPS, "to", "float") else UNKNOWN,
    Const: lambda *_: CONFIG,
    Config: lambda *_: CONFIG,
}
