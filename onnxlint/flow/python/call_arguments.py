"""What a call gives, by the names of the function's parameters."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from onnxlint.flow.python.entry_parameters import by_annotation
from onnxlint.flow.state.protocols import Defining, InContext
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.joins import join_all
from onnxlint.project.classes import FunctionUnit

STARRED = dom.Trace("", 0, "*")  # marks the Seq that stands for arguments given by `*` whose number is not known


def is_starred(v: dom.Value) -> TypeGuard[dom.Seq]:
    """Whether a value stands for any number of arguments."""
    return isinstance(v, dom.Seq) and v.trace is STARRED


def without_stars(args: list[dom.Value]) -> list[dom.Value]:
    """Arguments for what does not tell a `*` from a list."""
    for v in args:
        if type(v) is dom.Seq and v.trace is STARRED:
            return [dom.Seq(v.item, v.size) if is_starred(v) else v for v in args]
    return args


def bind(
    engine: Defining, unit: FunctionUnit, args: Sequence[dom.Value], kwargs: dict[str, dom.Value]
) -> dict[str, dom.Value]:
    """Arguments by the names of the parameters; defaults for what was not given."""
    a = unit.args
    positional = [*a.posonlyargs, *a.args]
    values: dict[str, dom.Value] = {}
    left: dict[str, Any] = dict(kwargs)
    loose = left.pop("**", None)
    flat: list[dom.Value] = []
    filler: dom.Value | None = None
    for v in args:
        if isinstance(v, dom.Tuple) and v.kind == "*":
            flat.extend(v.items)
        elif is_starred(v):
            filler = v.item
        else:
            flat.append(v)
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(a.defaults)), *a.defaults]
    for i, parameter in enumerate(positional):
        passed: dom.Value | None = flat[i] if i < len(flat) else left.pop(parameter.arg, None)
        if passed is not None:
            values[parameter.arg] = _argument(engine, unit, parameter, passed)
        elif isinstance(filler, dom.Tensor) and filler.guessed:
            values[parameter.arg] = engine.entry_value(unit, parameter, defaults[i])
        elif type(filler) is dom.Config:
            values[parameter.arg] = engine.constructor_value(unit, parameter, defaults[i])
        elif filler is not None:
            values[parameter.arg] = filler
        else:
            values[parameter.arg] = _missing(engine, unit, parameter, defaults[i], loose)
    if a.vararg is not None:
        rest = flat[len(positional) :]
        values[a.vararg.arg] = (
            dom.Tuple(tuple(rest)) if filler is None else dom.Seq(join_all([*rest, filler]) or dom.UNKNOWN)
        )
    for parameter, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        if parameter.arg in left:
            values[parameter.arg] = _argument(engine, unit, parameter, left.pop(parameter.arg))
        else:
            values[parameter.arg] = _missing(engine, unit, parameter, default, loose)
    if a.kwarg is not None:
        values[a.kwarg.arg] = dom.Dict(tuple(sorted(left.items())), loose)
    return values


def _argument(engine: InContext, unit: FunctionUnit, parameter: ast.arg, v: dom.Value) -> dom.Value:
    """An argument, with a step that says where it was handed over; a dict by its annotation is no tensor."""
    name = parameter.arg
    if isinstance(v, dom.Tensor) and parameter.annotation is not None and _names_a_dict(parameter.annotation):
        trace = v.trace or dom.Trace(unit.module.path, parameter.lineno + unit.shift, f"`{name}` is given")
        annotated = by_annotation(engine, parameter.annotation, trace, unit.module)
        return annotated if isinstance(annotated, dom.Dict) else dom.UNKNOWN
    if (
        isinstance(v, (dom.Tensor, dom.Dim, dom.Data))
        and v.trace is not None
        and engine.frames
        and engine.context.tracing
    ):
        frame = engine.frames[-1]
        step = dom.Trace(frame.module.path, frame.line, f"passed to `{unit.name}` as `{name}`", v.trace)
        return replace(v, trace=step, given="") if isinstance(v, dom.Tensor) and v.given else dom.traced(v, step)
    return v


def _missing(
    engine: Defining, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None, loose: dom.Value | None
) -> dom.Value:
    if loose is not None or default is None:
        return loose if loose is not None and default is None else dom.UNKNOWN
    if isinstance(default, ast.Constant):
        return dom.Const(default.value)
    return engine.evaluate_default(unit, default)


def _names_a_dict(annotation: ast.expr) -> bool:
    """True for `dict[...]` and `dict[...] | None`."""
    if isinstance(annotation, ast.BinOp):
        return _names_a_dict(annotation.left)
    return isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") in ("dict", "Dict")
