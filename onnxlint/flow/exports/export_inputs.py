"""What an export call feeds to the model, and what its function says around the call."""

import ast
import re
from typing import Any

from onnxlint.flow.exports.call_sites import CallSite
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Defining, Exporting, InContext
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import argument
from onnxlint.project.classes import FunctionUnit
from onnxlint.project.outline import dotted

_OF_OLD = "for a torch that knows no `dynamo=` alone: with that, the same call runs before it"
_CASTS = re.compile(r"\.(to|type|float|half|double|bfloat16|type_as)\(|autocast|dtype")


def forward_of(model: dom.Value) -> tuple[FunctionUnit, int] | None:
    """What an exported model runs, which a script may have replaced, and how many parameters `self` takes of it."""
    if not isinstance(model, dom.Instance):
        return None
    replacement = model.object.attrs.get("forward")
    if replacement is not None:
        bound = isinstance(replacement, dom.Function) and replacement.bound is not None
        return (replacement.unit, int(bound)) if isinstance(replacement, dom.Function) else None
    unit = model.object.cls.find_method("forward")
    return (unit, 1) if unit is not None else None


def parameters_of(model: dom.Value) -> tuple[str, ...] | None:
    """Names of forward's parameters."""
    forward = forward_of(model)
    if forward is None or forward[0].args.vararg is not None or forward[0].args.kwarg is not None:
        return None
    a = forward[0].args
    return tuple(p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs][forward[1] :])


def signature(model: dom.Value) -> dict[str, Any]:
    """How many parameters of forward have no default, and whether it takes any number of them."""
    forward = forward_of(model)
    if forward is None or forward[0].node.decorator_list:
        return {}
    a = forward[0].args
    positional = len(a.posonlyargs) + len(a.args) - forward[1]
    return {"required": positional - len(a.defaults), "variadic": a.vararg is not None or a.kwarg is not None}


def fed(
    engine: Defining, arguments: dict[str, dom.Value], node: ast.AST, parameters: tuple[str, ...] | None
) -> dict[str, Any]:
    """The example inputs: by position, with what is known of each, and by name."""
    inputs, by_name = arguments.get("args"), arguments.get("kwargs")
    site = _site(engine, node)
    keywords: tuple[str, ...] | None = ()
    if by_name is not None and not dom.is_none(by_name):
        written = site.resolve(argument(node, "kwargs", 2)) if site is not None else None
        # A variable may hold one dict or another.
        keywords = _keys(by_name) if isinstance(written, (ast.Dict, ast.Call)) else None
    if inputs is None and by_name is not None:
        items: list[dom.Value] = []
    elif isinstance(inputs, (dom.Tuple, dom.Tensor)):
        items = list(inputs.items) if isinstance(inputs, dom.Tuple) else [inputs]
    else:
        return {"examples": None, "keywords": keywords}
    if items and isinstance(items[-1], dom.Dict) and by_name is None:
        keywords = _keys(items.pop())
    listed = isinstance(inputs, dom.Tuple) and inputs.kind == "list"
    return {
        "examples": _examples(engine, items, node, site, parameters),
        "keywords": keywords,
        "listed": listed,
        "tensor_defaults": _tensor_defaults(engine, arguments.get("model", dom.Unknown()), len(items), keywords),
    }


def _tensor_defaults(engine: Defining, model: dom.Value, fed: int, keywords: tuple[str, ...] | None) -> tuple[str, ...]:
    forward = forward_of(model)
    if forward is None or keywords is None or not forward[0].args.defaults:
        return ()
    unit, bound = forward
    return tuple(
        p.arg
        for p, default in unit.positional[fed + bound :]
        if p.arg not in keywords
        and default is not None
        and not isinstance(default, ast.Constant)
        and isinstance(engine.evaluate_default(unit, default), dom.Tensor)
        and any(isinstance(n, ast.Name) and n.id == p.arg for s in unit.node.body for n in ast.walk(s))
    )


def _keys(v: dom.Value) -> tuple[str, ...] | None:
    return tuple(str(k) for k, _ in v.items) if isinstance(v, dom.Dict) and v.rest is None else None


def _examples(
    engine: InContext, items: list[dom.Value], node: ast.AST, site: CallSite | None, parameters: tuple[str, ...] | None
) -> tuple[observations.Example, ...]:
    """What is known of each input that is fed by position."""
    inputs = argument(node, "args", 1)
    written = site.elements(inputs) if site is not None else []
    again = site.repeated(inputs) if site is not None else set()
    examples = []
    for i, v in enumerate(items):
        expression = written[i] if len(written) >= len(items) else None
        sizes = tuple(dom.as_int(d) for d in v.dims) if isinstance(v, dom.Tensor) and v.dims is not None else None
        parameter = parameters[i] if parameters is not None and i < len(parameters) else None
        dtype = site.precision(expression) if site is not None and expression is not None else None
        span = engine.place(expression).span if expression is not None else None
        repeated = i in again and isinstance(v, dom.Tensor)
        examples.append(observations.Example(parameter, sizes, dtype, repeated, span, _kind(v)))
    return tuple(examples)


def _kind(v: dom.Value) -> str:
    if isinstance(v, dom.Tensor):
        return "tensor" if not v.guessed else ""
    if isinstance(v, dom.Const):
        return "none" if dom.is_none(v) else "number" if isinstance(v.literal, (int, float)) else ""
    return "numbered" if isinstance(v, dom.Dict) and any(isinstance(k, int) for k, _ in v.items) else ""


def around(engine: InContext, arguments: dict[str, dom.Value], node: ast.AST) -> dict[str, Any]:
    """What the function says of the model and of its shapes, and what it does after the call."""
    site = _site(engine, node)
    if site is None:
        return {}
    model = arguments.get("model", dom.Unknown())
    written = argument(node, "model", 0) or argument(node, "mod", 0)
    shapes = arguments.get("dynamic_shapes")
    form, size = "", 0
    keys: tuple[str, ...] = ()
    if isinstance(shapes, dom.Dict) and shapes.rest is None:
        form, keys, size = "dict", tuple(str(k) for k, _ in shapes.items), len(shapes.items)
    elif isinstance(shapes, dom.Tuple):
        form, size = "tuple", len(shapes.items)
    plain = isinstance(model, dom.Layer)
    if isinstance(model, dom.Instance):  # one that converts nothing that it is fed, and is made in single precision
        units = (unit for cls in model.object.cls.mro() for unit in cls.methods.values())
        plain = not any(_CASTS.search(unit.text) for unit in units)
    precision = site.precision(written, "float32" if plain else None)
    outer = engine.frames[-2] if len(engine.frames) > 1 else None
    return {
        "caller": f"{outer.symbol}:{outer.line - outer.body.first}" if outer is not None else "",
        "wrapping": site.wrapping(written) or getattr(model, "wrapping", ""),
        "precision": precision if plain or precision != "float32" else None,
        "autocast": site.autocast(),
        "asked": site.asked_dims(argument(node, "dynamic_shapes")),
        "shapes_form": form,
        "shapes_keys": keys,
        "shapes_size": size,
        "for_a_version": id(node) in site.within.for_versions,
        "sized_on_request": id(node) in site.within.sized_on_request,
        "unlikely": _unlikely(engine, site, node),
        "later_loads": tuple((engine.place(n).span, f"{dotted(n)}()") for n in site.later_loads(written)),
    }


def _unlikely(engine: InContext, site: CallSite, call: ast.AST) -> str:
    """Why a call hardly ever runs; "" for any other."""
    return _OF_OLD if id(call) in site.within.retried else _idle_flag(engine, site.within.by_flag.get(id(call), ""))


def _idle_flag(engine: InContext, flag: str) -> str:
    """What is said of a flag that nothing in the project turns on; "" for another."""
    on = re.compile(rf"\b{flag} *= *(?:True\b|1\b|not\b|self\.|(?:args|opts?|cfg|config|flags)\b)", re.IGNORECASE)
    modules = engine.frames[-1].module.project.naming("True") if flag else ()
    turned = not flag or any(flag in m.source.text and on.search(m.source.text) for m in modules)
    return "" if turned else f"`{flag}` is off, and nothing here turns it on"


def _site(engine: InContext, node: ast.AST) -> CallSite | None:
    module, body = engine.frames[-1].module, engine.frames[-1].body
    if not isinstance(node, ast.Call) or (body.of_file and body.shift):
        return None  # a default of a parameter: nothing is done around it
    return CallSite(module, module.file.tree if body.of_file else body.function, node, body.shift)


def outputs(engine: Exporting, model: dom.Value, inputs: dom.Value) -> int | None:
    """How many tensors forward gives for the example inputs."""
    args: list[dom.Value] = list(inputs.items) if isinstance(inputs, dom.Tuple) else [inputs]
    if not isinstance(model, dom.Instance) or not all(isinstance(a, dom.Tensor) for a in args):
        return None
    _, result, _ = engine.rehearse(model, args)
    if isinstance(result, dom.Tuple) and all(isinstance(i, dom.Tensor) and not i.guessed for i in result.items):
        return len(result.items)
    return 1 if isinstance(result, dom.Tensor) and not result.guessed else None
