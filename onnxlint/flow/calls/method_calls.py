"""Calls of methods of values that are no objects of the project: tensors, layers, containers."""

import ast
from collections.abc import Callable
from typing import Any

from onnxlint.flow.calls.builtin_calls import make_dict
from onnxlint.flow.calls.operator_calls import OperatorCall, inplace_write, operator
from onnxlint.flow.exports.call_sites import KEEPS
from onnxlint.flow.exports.export_calls import record_lightning
from onnxlint.flow.lowering import layer_calls, sizes_as_numbers, unexportable_calls
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.python import implicit_calls, outside_state
from onnxlint.flow.python.entry_parameters import TENSOR_NAMES, TRAINING_FLAG
from onnxlint.flow.python.implicit_calls import ITEMS, as_layer, layer_base
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Applying, Calling, Defining, Engine, InContext, Lowering, Observing, Writing
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Args, Kwargs, Value, replace
from onnxlint.flow.values.joins import element, fed, join, join_all, updated

_OF_CONTAINERS = frozenset(NAMES["container-methods"])
_OF_OTHERS = frozenset(["values", "items", "keys", "split"])  # of dicts and strings, where nothing is asked for
# What keeps the numbers of a numpy array of dimensions, or reckons with them.
_OF_ARRAYS = frozenset(["tolist", "astype", "copy", "item", "prod", "sum", "max", "min", "round"])
_OF_TEXT = frozenset(["startswith", "endswith", "lower", "upper", "strip"])
# What a Python number can be asked, and a tensor cannot, which a size is while TorchScript traces.
_OF_NUMBERS = frozenset(["is_integer", "as_integer_ratio", "bit_length", "bit_count", "conjugate", "hex"])


def method(engine: Engine, owner: Value, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """A method of a value that is no object of the project."""
    handler = _METHODS.get(type(owner))
    return handler(engine, owner, name, args, kwargs, node) if handler is not None else dom.UNKNOWN


def _of_tensor(engine: Writing, owner: dom.Tensor, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if (owner.guessed and name in _OF_CONTAINERS) or (name in _OF_OTHERS and not args and not kwargs):
        return dom.UNKNOWN
    if name == "type" and not args and not kwargs:
        return dom.CONFIG  # the name of its class
    handler = _TENSOR_METHODS.get(name)
    if handler is not None:
        return handler(OperatorCall(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True))
    return operator(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)


def _backward(call: OperatorCall) -> Value:
    if call.engine.context.tracing:
        unexportable_calls.gradient(call.engine, call.tensor, call.node)
    return dom.CONFIG


def _copied(call: OperatorCall) -> Value:
    inplace_write(call.engine, call, call.tensor)
    return fed(call.tensor, call.args[1:])


# Methods of a tensor that are no operators of a graph.
_TENSOR_METHODS: dict[str, Callable[[OperatorCall], Value]] = {
    "new_tensor": HANDLERS["tensor"],
    "copy_": _copied,
    "backward": _backward,
    **dict.fromkeys(NAMES["storage-methods"], lambda call: dom.CONFIG),
}


def _of_size(engine: Observing, owner: dom.Dim, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if owner.site is not None:
        return owner if name in _OF_ARRAYS else dom.UNKNOWN
    if name in _OF_NUMBERS:
        # A size is a tensor to TorchScript whether or not the axis is dynamic; to dynamo a symbol only if it is.
        mask = tuple(e for e in engine.context.exporters if owner.sure or e == "torchscript")
        if engine.context.tracing and mask:
            engine.emit(observations.Escape, node, owner.trace, exporters=mask, how=f".{name}()", source="dim")
    return dom.UNKNOWN


def _of_shape(_engine: InContext, owner: dom.Shape, name: str, *_: object) -> Value:
    axes = owner.tensor.axes if name == "numel" else None
    return dom.Dim(axes, plain=False, trace=owner.trace) if axes else dom.CONFIG


def _of_array(_engine: InContext, owner: dom.Array, name: str, *_: object) -> Value:
    if name in ("item", "tolist"):
        return dom.Data(owner.site, owner.fixed)
    return dom.Array(owner.site, owner.fixed, owner.trace)


def _of_constant(_engine: InContext, owner: dom.Const, name: str, args: Args, kwargs: Kwargs, _node: ast.AST) -> Value:
    """What is asked of a string: `torch.__version__.startswith("1.7")`."""
    given = [a.literal for a in args if isinstance(a, dom.Const) and isinstance(a.literal, str)]
    if not isinstance(owner.literal, str) or name not in _OF_TEXT or len(given) < len(args) or kwargs or len(given) > 1:
        return dom.CONFIG
    if name in ("startswith", "endswith") and not given:
        return dom.CONFIG
    return dom.Const(getattr(owner.literal, name)(*given))


def _of_dict(engine: Lowering, owner: dom.Dict, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if name in ("get", "pop", "setdefault") and args:
        sizes_as_numbers.looked_up(engine, owner, args[0], node, f".{name}()")
    if name == "setdefault" and len(args) == 2 and isinstance(args[0], dom.Const) and isinstance(node, ast.Call):
        key = args[0].literal
        if owner.get(key) is None:
            _rebind(engine, node, dom.Dict((*owner.items, (key, args[1])), owner.rest, owner.trace))
    if name == "update" and isinstance(node, ast.Call):
        plain = "**" not in kwargs and all(isinstance(a, (dom.Dict, dom.Tuple, dom.Seq)) for a in args)
        new = make_dict(engine, args, kwargs, node) if plain else dom.Dict((), dom.UNKNOWN)
        _rebind(engine, node, updated(owner, new) if isinstance(new, dom.Dict) else owner)
        return dom.NONE
    result = _dict_method(owner, name, args)
    if name == "pop" and args and isinstance(args[0], dom.Const) and isinstance(node, ast.Call):
        _rebind(engine, node, owner.without(args[0].literal))
    return result


def _of_object(engine: Engine, owner: dom.Instance, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if name == "to_onnx" and any("ightning" in b for b in owner.object.cls.external_bases()):
        record_lightning(engine, owner, args, kwargs, node)
    return engine.module_method(owner, name, args, kwargs, node)


def _of_class(engine: Defining, owner: dom.ClassRef, name: str, *_: object) -> Value:
    """What class methods of Lightning and transformers build of a class of the project."""
    if name not in ("load_from_checkpoint", "from_pretrained", "from_config") or not owner.info.is_module():
        return dom.UNKNOWN
    return dom.Instance(engine.model(owner.info), mode="eval" if name == "from_pretrained" else "")


def _of_super(engine: Calling, owner: dom.Super, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if isinstance(owner.bound, dom.Instance):
        result = _inherited(engine, owner.bound, name, args, kwargs, node)
        if result is not None:
            return result
    if name == "train" and args and isinstance(args[0], dom.Const) and args[0].literal is True:
        engine.mode_switch(node)
    return owner.bound


def _inherited(
    engine: Calling, bound: dom.Instance, name: str, args: Args, kwargs: Kwargs, node: ast.AST
) -> Value | None:
    """What a method of a base class outside of the project gives; None where it gives the object itself."""
    cls = bound.object.cls
    if name == "__init__" and (base := layer_base(cls)) is not None:
        bound.object.attrs[ITEMS] = layer_calls.build(base, args, kwargs)
    if name.startswith("__get"):
        return dom.UNKNOWN
    if name == "forward":
        return as_layer(engine, bound, args, kwargs, node) or dom.UNKNOWN
    unit = cls.find_method("forward") if name == "__call__" else None
    return engine.run_forward(bound, unit, args, kwargs, node) if unit is not None else None


def _of_layer(engine: Applying, owner: dom.Layer, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    handler = _LAYER_METHODS.get(name)
    return handler(engine, owner, name, args, node) if handler is not None else dom.UNKNOWN


def _itself(engine: Calling, owner: dom.Layer, name: str, args: Args, node: ast.AST) -> Value:
    if name == "train" and not (args and isinstance(args[0], dom.Const) and args[0].literal is False):
        engine.mode_switch(node)
    return owner


def _hooked(engine: InContext, owner: dom.Layer, name: str, args: Args, node: ast.AST) -> Value:
    if not args or not isinstance(node, ast.Call):
        return dom.UNKNOWN
    _rebind(engine, node, replace(owner, args=(*owner.args, (name, args[0]))))
    holder = engine.frames[-1].bound or implicit_calls.only_model(engine.frames[-1])
    if isinstance(holder, dom.Instance) and name == "register_forward_hook":
        implicit_calls.hook_loosely(engine, holder, args[0], node)
    return dom.CONFIG


def _forward(engine: Lowering, owner: dom.Layer, name: str, args: Args, node: ast.AST) -> Value:
    if name == "forward":
        unexportable_calls.bypassed(engine, owner, node)
    return layer_calls.call(engine, owner, args, {}, node)


def _named_layers(_engine: InContext, owner: dom.Layer, *_: object) -> Value:
    inner = owner.items if isinstance(owner.items, dom.Dict) else dom.Dict(())
    if inner.items:
        return dom.Tuple(tuple(dom.Tuple((dom.Const(k), v)) for k, v in inner.items))
    return dom.Seq(dom.Tuple((dom.CONFIG, inner.rest or dom.UNKNOWN)))


def _layers_within(_engine: InContext, owner: dom.Layer, *_: object) -> Value:
    if isinstance(owner.items, dom.Dict):
        return dom.Tuple(tuple(dom.contents(owner.items)))
    return owner.items if owner.items is not None else dom.UNKNOWN


def _layer_added(engine: InContext, owner: dom.Layer, name: str, args: Args, node: ast.AST) -> Value:
    if not args or not isinstance(node, ast.Call):
        return dom.UNKNOWN
    item = args[-1]
    if name == "extend" and isinstance(item, (dom.Tuple, dom.Seq)):
        item = element(item)
    held = owner.items if isinstance(owner.items, (dom.Tuple, dom.Seq)) else dom.Seq(dom.UNKNOWN)
    _rebind(engine, node, replace(owner, items=_grown(held, item, name)))
    return dom.NONE


def _grown(held: dom.Tuple | dom.Seq, item: Value, method: str) -> dom.Tuple | dom.Seq:
    """A sequence with an item more; after anything but `append`, or of many, nobody knows how many there are."""
    if isinstance(held, dom.Tuple) and len(held.items) < 8 and method == "append":
        return dom.Tuple((*held.items, item), held.kind, held.trace)
    if isinstance(held, dom.Tuple) and not held.items:
        return dom.Seq(item)
    return dom.Seq(join(element(held), item), held.size if isinstance(held, dom.Seq) else None, held.trace)


_LAYER_METHODS: dict[str, Callable[[Applying, dom.Layer, str, Args, ast.AST], Value]] = {
    **dict.fromkeys(NAMES["methods-of-itself"], _itself),
    **dict.fromkeys(layer_calls.HOOKS, _hooked),
    **dict.fromkeys(("forward", "__call__"), _forward),
    "items": _named_layers,
    "generate_square_subsequent_mask": lambda _e, _o, _n, args, _: layer_calls.causal_mask(args[0] if args else None),
    **dict.fromkeys(("values", "children", "modules"), _layers_within),
    **dict.fromkeys(("append", "extend", "insert", "add_module"), _layer_added),
}


def _rebind(engine: InContext, node: ast.Call, v: Value) -> None:
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Name, ast.Attribute)):
        engine.frames[-1].rebind(node.func.value, v)
    elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Subscript):
        engine.frames[-1].assign_item(node.func.value, v)


def _dict_value(owner: dom.Dict, args: Args) -> Value:
    key = args[0] if args else dom.UNKNOWN
    default = args[1] if len(args) > 1 else dom.NONE
    value = owner.get(key.literal) if isinstance(key, dom.Const) else join_all(dom.contents(owner))
    if isinstance(key, dom.Const) and dom.is_none(default) and value is owner.rest and isinstance(value, dom.Tensor):
        return value if key.literal in TENSOR_NAMES else dom.UNKNOWN  # an input that may be left out
    if value is owner.rest and isinstance(default, dom.Const) and isinstance(default.literal, (bool, str)):
        off = isinstance(key, dom.Const) and TRAINING_FLAG.fullmatch(str(key.literal))
        return dom.Const(False) if off else dom.CONFIG  # a flag beside the tensors of a batch
    if value is None:
        return default
    return dom.or_none(value) if owner.merged or value is owner.rest else value


def _dict_method(owner: dom.Dict, name: str, args: Args) -> Value:
    if name in ("get", "pop", "setdefault"):
        return _dict_value(owner, args)
    if name == "items":
        if owner.rest is None and owner.items:
            return dom.Tuple(tuple(dom.Tuple((dom.Const(k), v)) for k, v in owner.items))
        return dom.Seq(dom.Tuple((dom.CONFIG, join_all(dom.contents(owner)) or dom.UNKNOWN)))
    if name == "values":
        values = list(dom.contents(owner))
        return dom.Tuple(tuple(values)) if owner.rest is None else dom.Seq(join_all(values) or dom.UNKNOWN)
    if name == "keys":
        return dom.Tuple(tuple(dom.Const(k) for k, _ in owner.items)) if owner.rest is None else dom.Seq(dom.CONFIG)
    return owner if name in ("copy", "to", "cpu", "cuda") else dom.UNKNOWN


def _of_sequence(
    engine: InContext, owner: dom.Tuple | dom.Seq, name: str, args: Args, kwargs: Kwargs, node: ast.AST
) -> Value:
    if name in ("append", "appendleft", "extend", "insert", "add") and args and isinstance(node, ast.Call):
        item = args[-1]
        if name == "extend":
            item = element(item) if isinstance(item, (dom.Tuple, dom.Seq)) else dom.UNKNOWN
        if isinstance(node.func, ast.Attribute):
            outside_state.stored(engine.frames[-1], node.func.value, item)
        _rebind(engine, node, _grown(owner, item, name))
        return dom.NONE
    if (
        name == "remove"
        and args
        and isinstance(owner, dom.Tuple)
        and args[0] in owner.items
        and isinstance(node, ast.Call)
    ):
        at = owner.items.index(args[0])
        _rebind(engine, node, replace(owner, items=owner.items[:at] + owner.items[at + 1 :]))
        return dom.NONE
    if name in ("pop", "popleft"):
        return element(owner)
    if name in ("index", "count"):
        return dom.CONFIG
    return owner if name in ("copy", "__iter__") else dom.UNKNOWN


_METHODS: dict[type, Callable[[Engine, Any, str, Args, Kwargs, ast.AST], Value]] = {
    dom.Tensor: _of_tensor,
    dom.Dim: _of_size,
    dom.Shape: _of_shape,
    dom.Array: _of_array,
    dom.Data: lambda engine, owner, *_: owner,
    dom.Layer: _of_layer,
    dom.Dict: _of_dict,
    **dict.fromkeys((dom.Tuple, dom.Seq), _of_sequence),
    dom.Instance: _of_object,
    dom.Super: _of_super,
    dom.ClassRef: _of_class,
    dom.Scripted: lambda engine, owner, name, *_: owner if name in (*KEEPS, "to", "float") else dom.UNKNOWN,
    dom.Const: _of_constant,
    dom.Config: lambda *_: dom.CONFIG,
}
